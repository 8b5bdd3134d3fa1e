import { readFileSync } from "node:fs";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { commandTable } from "../../apps/hearth/src/commands/command-table.ts";
import { quickStartPages, readQuickStart } from "../ground/quick-start.ts";
import { root } from "../run-to-end.ts";

/** A new user's first steps, in this order. */
const journey: readonly (readonly [step: string, line: RegExp])[] = [
  ["install", /^npm ci/u],
  ["run", /hearth run \S+ "/u],
  ["pull", /hearth pull /u],
  ["web UI", /11434\/ui/u],
  ["serve", /hearth serve/u],
];

test("the quick starts lead from installing to run, pull, the web UI and serve, and use only commands that exist", () => {
  const steps = quickStartPages.flatMap((page) => readQuickStart(readFileSync(join(root, page), "utf8")));
  const lines = steps.flatMap((step) => ("line" in step ? [step.line] : []));
  const positions = journey.map(([, pattern]) => lines.findIndex((line) => pattern.test(line)));
  expect(positions).toEqual(positions.toSorted((one, other) => one - other));
  expect(positions).not.toContain(-1);
  const commands = lines.flatMap((line) => /\bhearth ([a-z]+)/u.exec(line)?.[1] ?? []);
  expect(commands.filter((command) => !commandTable.some(({ name }) => name === command))).toEqual([]);
  recordFigure({
    claim: "people 10",
    text: `${positions.length} of ${journey.length} steps in the README and quick starts: ${journey.map(([step]) => step).join(", ")}`,
    counted: { reached: positions.length, needed: journey.length },
  });
});
