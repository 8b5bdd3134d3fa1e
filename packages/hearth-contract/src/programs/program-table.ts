import { aider } from "./aider.ts";
import { claude } from "./claude.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { continueProgram } from "./continue.ts";
import { crush } from "./crush.ts";
import { goose } from "./goose.ts";
import { opencode } from "./opencode.ts";
import type { Program } from "./program.ts";
import { zed } from "./zed.ts";

/** Every program of `hearth launch`, in the order of its help. */
export const programs: readonly Program[] = [
  claude,
  codex,
  opencode,
  cline,
  aider,
  continueProgram,
  zed,
  goose,
  crush,
];
