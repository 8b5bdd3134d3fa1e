import { expect, test } from "vitest";
import { leafText, recordText, timestampOf } from "./record.ts";

const record = {
  log: 3,
  number: 1_769_847_300_000_042,
  account: "0190a0b0-0000-7000-8000-000000000001",
  stream: "0190a0b0-0000-7000-8000-000000000002",
  outcome: "changed",
  subject: "0190a0b0-0000-7000-8000-000000000003",
  revision: 7,
  bodyHash: "0123456789abcdef".repeat(4),
};

test("the text of a record has one line for each of its members", () => {
  expect(recordText(record)).toBe(
    [
      "keep-audit/2",
      "record",
      "3",
      "1769847300000042",
      "0190a0b0-0000-7000-8000-000000000001",
      "0190a0b0-0000-7000-8000-000000000002",
      "changed",
      "0190a0b0-0000-7000-8000-000000000003",
      "7",
      "0123456789abcdef".repeat(4),
      "",
    ].join("\n"),
  );
  expect(recordText({ ...record, subject: null, revision: null })).toContain("\nchanged\n-\n-\n0123");
  expect(recordText({ ...record, revision: 0 })).toContain("\n0\n0123");
});

test("the text of a leaf names the stream's previous leaf, also when its index is 0", () => {
  const recordHash = "f".repeat(64);
  expect(leafText({ previous: null, recordHash })).toBe(`keep-audit/2\nleaf\n-\n${recordHash}\n`);
  expect(leafText({ previous: 0, recordHash })).toBe(`keep-audit/2\nleaf\n0\n${recordHash}\n`);
});

test("the number of a record is its time in microseconds", () => {
  expect(timestampOf(record.number)).toBe("2026-01-31T08:15:00.000042Z");
  expect(timestampOf(1_769_847_300_999_999)).toBe("2026-01-31T08:15:00.999999Z");
  expect(timestampOf(0)).toBe("1970-01-01T00:00:00.000000Z");
  expect(timestampOf(Number.MAX_SAFE_INTEGER)).toBe("2255-06-05T23:47:34.740991Z");
});
