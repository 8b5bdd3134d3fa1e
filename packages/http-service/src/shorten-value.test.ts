import { expect, test } from "vitest";
import { shortenValue } from "./shorten-value.ts";

test("a small value is kept as it is", () => {
  const value = { a: [1, "two", null, { b: true }], c: {} };
  expect(shortenValue(value)).toEqual(value);
});

test("long arrays and objects keep their first entries", () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index);
  expect(shortenValue(numbers)).toEqual(numbers.slice(0, 2000));
  const fields = Object.fromEntries(numbers.map((number) => [`field ${number}`, number]));
  expect(Object.keys(Object(shortenValue(fields)))).toHaveLength(2000);
});

test("many short arrays together are shortened too", () => {
  const value = Array.from({ length: 2000 }, () => Array.from({ length: 50 }, () => 0));
  expect(JSON.stringify(shortenValue(value)).length).toBeLessThan(60_000);
});
