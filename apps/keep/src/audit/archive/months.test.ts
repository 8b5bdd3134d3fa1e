import { timestampOf } from "@hearth-and-keep/audit-records";
import { expect, test } from "vitest";
import { monthBefore, monthOfPartition, parseMonth } from "./months.ts";

test("a month begins and ends at midnight in UTC", () => {
  const { start, end } = parseMonth("2024-02") ?? { start: 0, end: 1 };
  expect(timestampOf(start)).toBe("2024-02-01T00:00:00.000000Z");
  expect(timestampOf(end - 1)).toBe("2024-02-29T23:59:59.999999Z");
});

test("the month before January is December", () => {
  const names = ["2026-01", "2026-03", "2026-12"].map((name) => parseMonth(name));
  expect(names.map((month) => month && monthBefore(month))).toEqual(["2025-12", "2026-02", "2026-11"]);
});

test("only months and the partitions of months are read", () => {
  for (const text of ["2026-00", "2026-13", "2026-1", "26-01", "2026-01-01", " 2026-01", ""])
    expect([text, parseMonth(text)]).toEqual([text, undefined]);
  expect(monthOfPartition("audit_record_2026_01")).toEqual(parseMonth("2026-01"));
  for (const name of ["audit_record", "audit_record_2026_13", "audit_record_2026_01; DROP TABLE x"])
    expect([name, monthOfPartition(name)]).toEqual([name, undefined]);
});
