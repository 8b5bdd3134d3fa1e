import { expect, test } from "vitest";
import { readRange } from "./byte-range.ts";

test.each([
  ["bytes=0-9", { kind: "part", first: 0, last: 9 }],
  ["bytes=90-", { kind: "part", first: 90, last: 99 }],
  ["bytes=90-1000", { kind: "part", first: 90, last: 99 }],
  ["bytes=-10", { kind: "part", first: 90, last: 99 }],
  ["bytes=-1000", { kind: "part", first: 0, last: 99 }],
])("of 100 bytes, %s is a partial range", (header, expected) => {
  expect(readRange(header, 100)).toEqual(expected);
});

test.each(["bytes=100-", "bytes=-0"])("of 100 bytes, %s is unsatisfiable", (header) => {
  expect(readRange(header, 100)).toEqual({ kind: "unsatisfiable" });
});

test.each([undefined, "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "lines=1-2"])(
  "of 100 bytes, %s means all of them",
  (header) => {
    expect(readRange(header, 100)).toEqual({ kind: "whole" });
  },
);
