import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { findMissingTests } from "../../claims/find-missing-tests.ts";
import rows from "./rows.json" with { type: "json" };

/** The rows of the table of known bugs that apply to Hearth. */
const numbers = [...count(1, 30), ...count(32, 52)];
/** Those about the model store. */
const storeNumbers = count(40, 43);

function count(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_none, index) => from + index);
}

test("every known bug of other servers is in the table once, with its tests", () => {
  expect(rows.map(({ row }) => row)).toEqual(numbers);
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
});

test("every test named in the table exists", async () => {
  expect(await findMissingTests(rows)).toEqual([]);
  const proven = rows.filter(({ tests }) => tests.length > 0);
  recordFigure({
    claim: "families 2",
    text: `${proven.length} of ${numbers.length} known bugs have a test named by their symptom`,
    counted: { reached: proven.length, needed: numbers.length },
  });
  const stored = proven.filter(({ row }) => storeNumbers.includes(row)).length;
  recordFigure({
    claim: "store 11",
    text: `${stored} of ${storeNumbers.length} known bugs of other stores have a test named by their symptom`,
    counted: { reached: stored, needed: storeNumbers.length },
  });
});
