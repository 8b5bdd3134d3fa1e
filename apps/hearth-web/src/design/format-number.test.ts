import { expect, test } from "vitest";
import { formatCompact, formatCount, formatSeconds } from "./format-number.ts";

test.each([
  [0, "0"],
  [0.125, "0.13"],
  [9999, "9,999"],
  [10_000, "10k"],
  [12_500, "12.5k"],
  [999_999, "1M"],
  [3_440_000, "3.4M"],
  [2e9, "2B"],
  [1e12, "1T"],
  [1e15, "1,000T"],
  [1.8e18, "1,800,000T"],
])("%d is %s on an axis", (value, text) => {
  expect(formatCompact(value)).toBe(text);
});

test("a count has all of its digits, in groups of three", () => {
  expect([0, 999, 1e15].map(formatCount)).toEqual(["0", "999", "1,000,000,000,000,000"]);
});

test("short times are in milliseconds, longer ones in seconds", () => {
  expect([0, 0.0204, 0.31, 9.999, 75.4].map(formatSeconds)).toEqual([
    "0 ms",
    "20 ms",
    "0.31 s",
    "10 s",
    "75 s",
  ]);
});
