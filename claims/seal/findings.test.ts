import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { findMissingTests } from "../find-missing-tests.ts";
import findings from "./findings.json" with { type: "json" };

/** The weaknesses of medium and low severity that a review of Keep found. */
const ids = [...number("M", 8), ...number("L", 10)];

function number(severity: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_none, index) => `${severity}${index + 1}`);
}

test("every weakness that the review found is listed once, and each test that its symptom names exists", async () => {
  expect(findings.map(({ finding }) => finding)).toEqual(ids);
  expect(await findMissingTests(findings)).toEqual([]);
  const missing = { file: "claims/seal/findings.test.ts", name: ["no", "such"].join(" ") };
  expect(await findMissingTests([{ tests: [missing] }])).toEqual([missing]);
  const proven = findings.filter(({ tests }) => tests.length > 0);
  recordFigure({
    claim: "seal 11",
    text: `${proven.length} of ${ids.length} known weaknesses have a test named by their symptom`,
    counted: { reached: proven.length, needed: ids.length },
  });
  expect(proven).toHaveLength(ids.length);
});
