import { expect, test } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

const { signal } = new AbortController();

test("all who share a limit take no more than it together", async () => {
  const rate = createRateLimit(1_000_000);
  const startedAt = performance.now();
  const takers = [1, 2, 3].map(async () => {
    for (let turn = 0; turn < 10; turn += 1) await rate.take(20_000, signal);
  });
  await Promise.all(takers);
  const milliseconds = performance.now() - startedAt;
  // 600,000 bytes less the first burst; a busy machine may only make it slower.
  expect(milliseconds).toBeGreaterThan(450);
});

test("without a limit nobody waits", () => {
  expect(createRateLimit(undefined).take(1e12, signal)).toBeUndefined();
});

test("a wait ends when the taker leaves", async () => {
  const leaving = new AbortController();
  const waiting = createRateLimit(1).take(1000, leaving.signal);
  leaving.abort();
  await expect(waiting).rejects.toThrow("abort");
});
