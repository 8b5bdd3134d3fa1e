import { expect, test } from "vitest";
import type { TestRun } from "../../claims/prove-by-tests.ts";
import { runRepeatingFailures } from "./run-repeating-failures.ts";

const noFailure: TestRun = {
  passed: 10,
  failed: 0,
  files: [],
  figures: [],
  failures: [],
  failedFiles: [],
};
const failing = (...names: readonly string[]): TestRun => ({
  ...noFailure,
  failed: names.length,
  failures: names.map((name) => `${name}.test.ts: fails`),
  failedFiles: names.map((name) => `${name}.test.ts`),
});

/** The result, and the arguments of each run. */
async function runTwice(...runs: readonly TestRun[]) {
  const calls: (readonly string[])[] = [];
  const result = await runRepeatingFailures("--project=unit", async (args) => {
    calls.push(args);
    return runs[calls.length - 1] ?? noFailure;
  });
  return { result, calls };
}

test("without a failure, nothing runs again", async () => {
  const { result, calls } = await runTwice(noFailure);
  expect(calls).toEqual([["--project=unit"]]);
  expect(result).toMatchObject({ passed: 10, failed: 0, unrepeated: [] });
});

test("what fails once is named and has passed, and what fails twice has failed", async () => {
  const { result, calls } = await runTwice(failing("a", "b"), { ...failing("b"), passed: 3 });
  expect(calls[1]).toEqual(["--project=unit", "--no-file-parallelism", "a.test.ts", "b.test.ts"]);
  expect(result).toMatchObject({
    passed: 11,
    failed: 1,
    failures: ["b.test.ts: fails"],
    unrepeated: ["a.test.ts: fails"],
  });
});

test("when many files fail, or the runner left no report, nothing runs again", async () => {
  const many = failing(...Array.from({ length: 13 }, (_, index) => `file-${index}`));
  expect((await runTwice(many)).result).toMatchObject({ failed: 13, unrepeated: [] });
  const noReport = { ...noFailure, passed: 0, failed: 1, failures: ["no report"] };
  const { result, calls } = await runTwice(noReport);
  expect([calls.length, result.failed]).toEqual([1, 1]);
});
