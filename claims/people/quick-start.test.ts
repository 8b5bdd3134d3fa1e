import { readFileSync } from "node:fs";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { commandTable } from "../../apps/hearth/src/commands/command-table.ts";
import { readQuickStart } from "../ground/quick-start.ts";
import { root } from "../run-to-end.ts";

/** What a person does first, in this order. */
const journey: readonly (readonly [what: string, line: RegExp])[] = [
  ["install", /^npm ci/u],
  ["run", /hearth run \S+ "/u],
  ["pull", /hearth pull /u],
  ["page", /11434\/ui/u],
  ["serve", /hearth serve/u],
];

test("the quick start goes from installing by run and pull to the page, and types no command that is not there", () => {
  const steps = readQuickStart(readFileSync(join(root, "README.md"), "utf8"));
  const lines = steps.flatMap((step) => ("line" in step ? [step.line] : []));
  const places = journey.map(([, pattern]) => lines.findIndex((line) => pattern.test(line)));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places).not.toContain(-1);
  const typed = lines.flatMap((line) => /\bhearth ([a-z]+)/u.exec(line)?.[1] ?? []);
  expect(typed.filter((word) => !commandTable.some(({ name }) => name === word))).toEqual([]);
  recordFigure({
    claim: "people 10",
    text: `${places.length} of ${journey.length} steps in the README: ${journey.map(([what]) => what).join(", ")}`,
    counted: { reached: places.length, needed: journey.length },
  });
});
