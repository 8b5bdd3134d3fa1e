import { expect, test } from "vitest";
import { evaluateRun, provenByTests, type TestRun } from "./prove-by-tests.ts";

function run(changes: Partial<TestRun>): TestRun {
  return { passed: 3, failed: 0, files: [], figures: [], failures: [], failedFiles: [], ...changes };
}

const figure = { claim: "topic 1", text: "10 of 10 things", counted: { reached: 10, needed: 10 } };

test("a claim holds when its tests passed and its figure was measured", () => {
  expect(evaluateRun(run({}), [figure])).toEqual({
    isProven: true,
    figure: "10 of 10 things; 3 of 3 tests passed",
  });
});

test("a claim falls short when a test failed, whatever its figure, and still reports the figure", () => {
  expect(evaluateRun(run({ failed: 1 }), [figure])).toEqual({
    isProven: false,
    figure: `${figure.text}; 3 of 4 tests passed`,
  });
});

test("a claim falls short when no test ran", () => {
  expect(evaluateRun(run({ passed: 0 }), [figure]).isProven).toBe(false);
});

test("a claim falls short when its tests passed without measuring anything", () => {
  expect(evaluateRun(run({}), [])).toEqual({
    isProven: false,
    figure: "3 of 3 tests passed, but no figure was measured",
  });
});

test("a claim falls short when a count is below what is needed, and reports that count", () => {
  const short = { ...figure, text: "9 of 10 things", counted: { reached: 9, needed: 10 } };
  expect(evaluateRun(run({}), [figure, short])).toEqual({
    isProven: false,
    figure: "9 of 10 things; 3 of 3 tests passed",
  });
});

test("a claim falls short when one of its paths has no test, whatever the results of the others", {
  timeout: 120_000,
}, async () => {
  const paths = ["claims/ground/quick-start-lines.test.ts", "claims/ground/nowhere.test.ts"];
  expect(await provenByTests("topic 1", paths).prove()).toEqual({
    isProven: false,
    figure: "no test ran in claims/ground/nowhere.test.ts",
  });
});
