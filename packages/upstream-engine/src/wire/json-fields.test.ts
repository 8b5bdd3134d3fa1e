import { expect, test } from "vitest";
import { countOf, fieldsOf, listOf, numberOf, numbersOf, textOf } from "./json-fields.ts";

test("values of an unexpected type are read as absent", () => {
  const unexpected = [null, undefined, true, "", "7", {}, { length: 2 }];
  expect(unexpected.map(numberOf)).toEqual(unexpected.map(() => undefined));
  expect(unexpected.map(countOf)).toEqual(unexpected.map(() => undefined));
  expect(unexpected.map(listOf)).toEqual(unexpected.map(() => []));
  expect([null, 7, ["a"]].map(textOf)).toEqual(["", "", ""]);
  expect([null, "text", [1], 7].map(fieldsOf)).toEqual([{}, {}, {}, {}]);
  expect([-1, 1.5, 2 ** 60, Number.NaN].map(countOf)).toEqual(Array.from({ length: 4 }));
  expect(
    [
      [1, "2"],
      [1, null],
    ].map(numbersOf),
  ).toEqual([[], []]);
});

test("values of the expected type are read unchanged", () => {
  expect([numberOf(-1.5), countOf(0), textOf("a"), fieldsOf({ a: 1 })["a"]]).toEqual([-1.5, 0, "a", 1]);
  expect([listOf([1, "2"]), numbersOf([1, 2.5])]).toEqual([
    [1, "2"],
    [1, 2.5],
  ]);
});
