import { expect, test } from "vitest";
import { PrefillSpeed } from "./prefill-speed.ts";

function speedOf(tokensPerSecond: number): PrefillSpeed {
  const speed = new PrefillSpeed();
  speed.record({ readTokens: 1000, readMilliseconds: 1_000_000 / tokensPerSecond });
  return speed;
}

test("the first step is small for any prompt, because the engine may be slow", () => {
  expect(new PrefillSpeed().stepTokens(32_768, true)).toBeLessThanOrEqual(16);
});

test.each([
  { tokensPerSecond: 40, isAlone: true },
  { tokensPerSecond: 100, isAlone: false },
  { tokensPerSecond: 400, isAlone: true },
])(
  "a step of a very long prompt takes at most about a second ($tokensPerSecond tokens per second)",
  ({ tokensPerSecond, isAlone }) => {
    const step = speedOf(tokensPerSecond).stepTokens(131_072, isAlone);
    expect(step / tokensPerSecond).toBeLessThanOrEqual(1.1);
    expect(step).toBeGreaterThanOrEqual(16);
  },
);

test("a fast engine evaluates a very long prompt in at most 64 steps, and a short one in steps of a quarter of a second", () => {
  expect(speedOf(2000).stepTokens(65_536, true)).toBe(1024);
  expect(speedOf(2000).stepTokens(4000, true)).toBe(500);
});

test("the first measurement counts, however few tokens it covers", () => {
  const speed = new PrefillSpeed();
  speed.record({ readTokens: 8, readMilliseconds: 8000 });
  expect(speed.maxSeconds(16)).toBeGreaterThanOrEqual(16);
  speed.record({ readTokens: 8, readMilliseconds: 8 });
  expect(speed.maxSeconds(16)).toBeGreaterThanOrEqual(16);
});
