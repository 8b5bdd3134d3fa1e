import { expect, test } from "vitest";
import { endTokens, PrefillSpeed, reusableTokens } from "./prefill-prompt.ts";

test("a prompt is read in large steps while no other request comes, and in small ones for a while after one", () => {
  let now = 0;
  const speed = new PrefillSpeed(() => now);
  for (let step = 0; step < 20; step += 1) speed.record(512, 512);
  expect(speed.stepTokens(true)).toBe(512);
  expect(speed.stepTokens(false)).toBe(64);
  now = 1900;
  expect(speed.stepTokens(true)).toBe(64);
  now = 2000;
  expect(speed.stepTokens(true)).toBe(512);
});

test("steps have 64 to 512 tokens, whatever the speed", () => {
  const slow = new PrefillSpeed();
  const fast = new PrefillSpeed();
  for (let step = 0; step < 20; step += 1) {
    slow.record(64, 6400);
    fast.record(512, 10);
  }
  expect(slow.stepTokens(true)).toBe(64);
  expect(fast.stepTokens(true)).toBe(512);
});

test("in a long context, new tokens are evaluated together with enough of those before them", () => {
  expect(reusableTokens(4000, 4020)).toBe(3956);
  expect(reusableTokens(3000, 4020)).toBe(3000);
  // A few are faster on their own, and the last token is always evaluated.
  expect(reusableTokens(4016, 4020)).toBe(4016);
  expect(reusableTokens(4020, 4020)).toBe(4019);
  // In a short context that is not worth it.
  expect(reusableTokens(400, 420)).toBe(400);
});

test("the end of a long prompt is long enough to be evaluated fast, and leaves no small rest", () => {
  expect(endTokens(20, 420)).toBe(20);
  expect(endTokens(400, 420)).toBe(32);
  expect(endTokens(1020, 4020)).toBe(64);
  expect(endTokens(127, 4020)).toBe(127);
  expect(endTokens(128, 4020)).toBe(64);
});
