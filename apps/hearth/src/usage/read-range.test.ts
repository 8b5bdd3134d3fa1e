import { expect, test } from "vitest";
import { InvalidRangeError, type RangeText, readRange } from "./read-range.ts";

const now = Date.UTC(2026, 1, 14, 15, 9);

function read(text: RangeText): readonly string[] {
  const { from, to, bucket } = readRange(text, now);
  return [new Date(from).toISOString(), new Date(to).toISOString(), bucket];
}

test("the default is the last 30 days, with today", () => {
  expect(read({})).toEqual(["2026-01-16T00:00:00.000Z", "2026-02-15T00:00:00.000Z", "day"]);
});

test.each<[RangeText, string, string]>([
  [{ from: "2026-01-01", to: "2026-01-31" }, "2026-01-01T00:00", "2026-02-01T00:00"],
  [{ from: "2026-01-01T12:30:00Z", to: "2026-01-02T00:00:00Z" }, "2026-01-01T00:00", "2026-01-02T00:00"],
  [{ from: "2026-02-14T10:59:59+01:00", bucket: "hour" }, "2026-02-14T09:00", "2026-02-14T16:00"],
  [{ from: "2024-02-29", to: "2024-02-29" }, "2024-02-29T00:00", "2024-03-01T00:00"],
  [{ to: "2026-01-31" }, "2026-01-02T00:00", "2026-02-01T00:00"],
])("a range is widened to whole buckets: %j", (text, from, to) => {
  expect(read(text).slice(0, 2)).toEqual([`${from}:00.000Z`, `${to}:00.000Z`]);
});

test.each<[RangeText, string]>([
  [{ from: "yesterday" }, "from"],
  [{ from: "2026-02-31" }, "from"],
  [{ from: "2026-02-30T00:00:00Z" }, "from"],
  [{ to: "2026-13-01" }, "to"],
  [{ to: "1' OR '1'='1" }, "to"],
  [{ from: "-271821-04-20" }, "from"],
  [{ from: "2026-02-14", to: "2026-02-13" }, "from"],
  [{ from: "0001-01-01", to: "9999-12-31" }, "from"],
  [{ from: "2025-12-01", to: "2026-01-31", bucket: "hour" }, "from"],
])("a range that does not exist, or has too many buckets, names its field: %j", (text, field) => {
  expect(() => readRange(text, now)).toThrow(expect.objectContaining({ field }));
  expect(() => readRange(text, now)).toThrow(InvalidRangeError);
});
