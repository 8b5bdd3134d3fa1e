import { expect, test } from "vitest";
import { formatAge } from "./parse-age.ts";
import { readRunFlags } from "./read-run-flags.ts";

const minutes = (maxAge: string) => readRunFlags({ offline: true, maxAge }).maxAgeMinutes;
const seconds = (interval: string) => readRunFlags({ watch: true, interval }).watchSeconds;

test("an age is in minutes, hours or days, and needs a copy", () => {
  expect(["1m", "8h", "30d"].map(minutes)).toEqual([1, 480, 43_200]);
  expect([1, 90, 480, 1440, 2160].map(formatAge)).toEqual(["1m", "90m", "8h", "1d", "36h"]);
  for (const maxAge of ["", "0m", "31d", "8", "h", "-1h", "1e3h", "8h "])
    expect(() => minutes(maxAge), maxAge).toThrow("usage-error");
  expect(() => readRunFlags({ maxAge: "8h" })).toThrow("usage-error");
  expect(readRunFlags({}).maxAgeMinutes).toBe(1440);
});

test("an interval is in seconds, and needs a watch", () => {
  expect(["1", "3600"].map(seconds)).toEqual([1, 3600]);
  for (const interval of ["", "0", "3601", "1.5", "soon"])
    expect(() => seconds(interval), interval).toThrow("usage-error");
  expect(() => readRunFlags({ interval: "5" })).toThrow("usage-error");
  expect([readRunFlags({ watch: true }).watchSeconds, readRunFlags({}).watchSeconds]).toEqual([
    10,
    undefined,
  ]);
});
