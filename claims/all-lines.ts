import { agentsLines } from "./agents/lines.ts";
import { clientLines } from "./client/lines.ts";
import { consoleLines } from "./console/lines.ts";
import { engineLines } from "./engine/lines.ts";
import { enginesLines } from "./engines/lines.ts";
import { familiesLines } from "./families/lines.ts";
import { groundLines } from "./ground/lines.ts";
import { guardLines } from "./guard/lines.ts";
import { keepLines } from "./keep/lines.ts";
import { leanLines } from "./lean/lines.ts";
import type { ShowLine } from "./line.ts";
import { peopleLines } from "./people/lines.ts";
import { plainLines } from "./plain/lines.ts";
import { sealLines } from "./seal/lines.ts";
import { shareLines } from "./share/lines.ts";
import { storeLines } from "./store/lines.ts";
import { teamsLines } from "./teams/lines.ts";

/** Every claim of every topic, in the order they are listed. */
export const allLines: readonly ShowLine[] = [
  ...groundLines,
  ...engineLines,
  ...familiesLines,
  ...storeLines,
  ...keepLines,
  ...consoleLines,
  ...enginesLines,
  ...peopleLines,
  ...plainLines,
  ...guardLines,
  ...sealLines,
  ...agentsLines,
  ...leanLines,
  ...shareLines,
  ...teamsLines,
  ...clientLines,
];
