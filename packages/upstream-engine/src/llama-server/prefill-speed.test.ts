import { expect, test } from "vitest";
import { ReadingSpeed } from "./prefill-speed.ts";

function speedOf(tokensPerSecond: number): ReadingSpeed {
  const speed = new ReadingSpeed();
  speed.learn({ readTokens: 1000, readMilliseconds: 1_000_000 / tokensPerSecond });
  return speed;
}

test("the first step is small whatever the prompt's length, because the engine may be slow", () => {
  expect(new ReadingSpeed().stepTokens(32_768, true)).toBeLessThanOrEqual(16);
});

test.each([
  { tokensPerSecond: 40, isAlone: true },
  { tokensPerSecond: 100, isAlone: false },
  { tokensPerSecond: 400, isAlone: true },
])(
  "a step of a very long prompt takes about a second at most ($tokensPerSecond tokens a second)",
  ({ tokensPerSecond, isAlone }) => {
    const step = speedOf(tokensPerSecond).stepTokens(131_072, isAlone);
    expect(step / tokensPerSecond).toBeLessThanOrEqual(1.1);
    expect(step).toBeGreaterThanOrEqual(16);
  },
);

test("a fast engine reads a very long prompt in 64 steps at most, and a short one in steps of a quarter of a second", () => {
  expect(speedOf(2000).stepTokens(65_536, true)).toBe(1024);
  expect(speedOf(2000).stepTokens(4000, true)).toBe(500);
});

test("what was read first tells the speed, however little it was", () => {
  const speed = new ReadingSpeed();
  speed.learn({ readTokens: 8, readMilliseconds: 8000 });
  expect(speed.longestSeconds(16)).toBeGreaterThanOrEqual(16);
  speed.learn({ readTokens: 8, readMilliseconds: 8 });
  expect(speed.longestSeconds(16)).toBeGreaterThanOrEqual(16);
});
