import { expect, test } from "vitest";
import {
  bucketStarts,
  defaultPeriod,
  formatBucket,
  formatTick,
  type Period,
  periods,
  rowsByBucket,
  usageQuery,
} from "./usage-period.ts";
import type { UsageRow } from "./usage-report.ts";

const now = Date.parse("2026-11-18T14:05:00Z");

function period(id: Period["id"]): Period {
  return periods.find((each) => each.id === id) ?? defaultPeriod;
}

test("a period of days ends with today, in UTC", () => {
  const starts = bucketStarts(period("week"), now).map((at) => new Date(at).toISOString());
  expect(starts).toHaveLength(7);
  expect([starts[0], starts.at(-1)]).toEqual(["2026-11-12T00:00:00.000Z", "2026-11-18T00:00:00.000Z"]);
  expect(usageQuery(period("week"), now)).toBe("from=2026-11-12&to=2026-11-18&bucket=day");
  expect(usageQuery(period("month"), now)).toBe("from=2026-10-20&to=2026-11-18&bucket=day");
});

test("the last 24 hours end with the current one, and begin on the day before", () => {
  const starts = bucketStarts(period("day"), now).map((at) => new Date(at).toISOString());
  expect(starts).toHaveLength(24);
  expect([starts[0], starts.at(-1)]).toEqual(["2026-11-17T15:00:00.000Z", "2026-11-18T14:00:00.000Z"]);
  expect(usageQuery(period("day"), now)).toBe("from=2026-11-17&to=2026-11-18&bucket=hour");
});

test("in the last hour of a day, 24 hours are one day", () => {
  const late = Date.parse("2026-11-18T23:59:59.999Z");
  expect(usageQuery(period("day"), late)).toBe("from=2026-11-18&to=2026-11-18&bucket=hour");
});

function rowAt(start: string): UsageRow {
  return {
    start,
    key: "alice",
    model: "smol",
    where: "local",
    requests: 1,
    failed: 0,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    queue_seconds: 0,
    first_token_seconds: 0,
  };
}

test("rows fall into the bucket of their start; quiet buckets are empty, and rows of other hours are left out", () => {
  const rows = ["2026-11-17T14:00:00Z", "2026-11-17T15:00:00Z", "2026-11-18T14:00:00Z", "never"].map(rowAt);
  const buckets = rowsByBucket(rows, period("day"), bucketStarts(period("day"), now));
  expect(buckets.size).toBe(24);
  expect([...buckets.values()].flat().map(({ start }) => start)).toEqual([
    "2026-11-17T15:00:00Z",
    "2026-11-18T14:00:00Z",
  ]);
});

test("days have a date, hours a date and a time, and midnight is a date on the axis", () => {
  const [midnight, afternoon] = [Date.parse("2026-11-18T00:00:00Z"), Date.parse("2026-11-18T14:00:00Z")];
  expect([formatBucket(midnight, "day"), formatTick(midnight, "day")]).toEqual(["Nov 18", "Nov 18"]);
  expect([formatBucket(afternoon, "hour"), formatTick(afternoon, "hour")]).toEqual([
    "Nov 18, 14:00",
    "14:00",
  ]);
  expect([formatBucket(midnight, "hour"), formatTick(midnight, "hour")]).toEqual(["Nov 18, 00:00", "Nov 18"]);
});
