import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { type Check, checks, type Trial, tryCheck, tryChecks } from "./index.ts";

const minChecks = 42;
const quiet: Check = { name: "variable-names", case: "variable-names", find: async () => [] };

test("every check fires on its broken tree, exactly where expected, and not on its valid one", async () => {
  const trials = await tryChecks(checks);
  const firing = trials.filter(({ fires }) => fires);
  expect(trials.filter(({ fires }) => !fires)).toEqual([]);
  expect(checks.length).toBeGreaterThanOrEqual(minChecks);
  recordFigure({
    claim: "ground 2",
    text: `${firing.length} of ${checks.length} rules fire on code that violates them, and not on valid code`,
    counted: { reached: firing.length, needed: Math.max(minChecks, checks.length) },
  });
}, 300_000);

test("no two checks have the same name", () => {
  expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
});

test("a check without a case does not pass", async () => {
  const trial = await tryCheck({ ...quiet, name: "no-case", case: "no-case" });
  expect(trial).toEqual(failing("no-case", 'No case "no-case" in checks/cases'));
});

test("a check that never fires does not pass", async () => {
  const trial = await tryCheck(quiet);
  expect(trial.fires).toBe(false);
  expect(trial.surprises).toContain("reports packages/logging/src/write.ts:6 0 times instead of 1");
});

test("a check that also fires on the valid tree does not pass", async () => {
  const real = checks.find(({ name }) => name === quiet.name) ?? quiet;
  const finding = { path: "packages/logging/src/write.ts", line: 1, rule: quiet.name, message: "Always" };
  const trial = await tryCheck({ ...real, find: async (folder) => [...(await real.find(folder)), finding] });
  expect(trial.fires).toBe(false);
  expect(trial.surprises).toContain("reports packages/logging/src/write.ts:1 Always (variable-names)");
});

test("a check that fires under another name does not pass", async () => {
  const real = checks.find(({ name }) => name === quiet.name) ?? quiet;
  const trial = await tryCheck({ ...real, name: "no-anything" });
  expect(trial.fires).toBe(false);
});

function failing(check: string, surprise: string): Trial {
  return { check, fires: false, surprises: [surprise] };
}
