import { expect, test } from "vitest";
import { barsOfBuckets, barsOfGroups, describeBar, describeLargest, stackBars } from "./usage-bars.ts";
import { defaultPeriod } from "./usage-period.ts";
import { sumUsage, type UsageGroup } from "./usage-report.ts";

function group(name: string, output: number): UsageGroup {
  return { ...sumUsage([]), name, output, locations: ["local"] };
}

function groups(count: number): readonly UsageGroup[] {
  return Array.from({ length: count }, (_, index) => group(`key-${index}`, index + 1));
}

test("each series reaches up to its upper edge, and the topmost is drawn first", () => {
  const bar = { uncachedInput: 1, cachedInput: 2, output: 4, at: 0, tick: "", label: "" };
  const empty = { ...bar, uncachedInput: 0, cachedInput: 0, output: 0 };
  expect(stackBars([bar, empty])).toEqual([
    [7, 0],
    [3, 0],
    [1, 0],
  ]);
});

test("a day without requests has a bar of no height at its own position", () => {
  const start = Date.parse("2026-11-18T00:00:00Z");
  expect(barsOfBuckets(new Map([[start, []]]), defaultPeriod)).toEqual([
    { at: start / 86_400_000, tick: "Nov 18", label: "Nov 18", uncachedInput: 0, cachedInput: 0, output: 0 },
  ]);
});

test("eight groups have a bar each, the largest first", () => {
  const bars = barsOfGroups(groups(8));
  expect(bars.map(({ label }) => label)).toEqual([7, 6, 5, 4, 3, 2, 1, 0].map((index) => `key-${index}`));
  expect(bars.map(({ at }) => at)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test("of sixty groups, the smallest share the last bar, and no token is lost", () => {
  const bars = barsOfGroups(groups(60));
  expect(bars).toHaveLength(8);
  expect(bars.at(-1)?.label).toBe("53 others");
  expect(bars.reduce((sum, { output }) => sum + output, 0)).toBe((60 * 61) / 2);
  // The others have more tokens together, but are no group.
  expect(describeLargest(bars)).toBe("Most: key-59, 60 tokens");
});

test("groups without tokens have no bar", () => {
  expect(barsOfGroups([group("idle", 0)])).toEqual([]);
  expect(describeLargest([])).toBe("no tokens");
});

test("names on an axis are short, of whole characters, and hide no change of direction", () => {
  const [long, emoji, reordered] = barsOfGroups([
    group("k".repeat(200), 3),
    group("👩‍🚀".repeat(40), 2),
    group("safe\u202Enimda", 1),
  ]);
  expect(long?.tick).toBe(`${"k".repeat(17)}…`);
  expect(emoji?.tick).toBe(`${"👩‍🚀".repeat(17)}…`);
  expect(reordered?.tick).toBe("safe⟦U+202E⟧nimda");
});

test("a bar is described with all digits", () => {
  const bar = { uncachedInput: 1e15, cachedInput: 2, output: 3, at: 0, tick: "", label: "Nov 18" };
  expect(describeBar(bar)).toBe("Nov 18: 1,000,000,000,000,000 input not cached, 2 cached, 3 output");
});
