import { expect, test } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

const { signal } = new AbortController();

test("concurrent downloads share one limit", async () => {
  const rateLimit = createRateLimit(1_000_000);
  const startedAt = performance.now();
  const downloads = [1, 2, 3].map(async () => {
    for (let turn = 0; turn < 10; turn += 1) await rateLimit.reserve(20_000, signal);
  });
  await Promise.all(downloads);
  const milliseconds = performance.now() - startedAt;
  // 600,000 bytes minus the first burst; a busy machine only makes it slower.
  expect(milliseconds).toBeGreaterThan(450);
});

test("without a limit there is no wait", () => {
  expect(createRateLimit(undefined).reserve(1e12, signal)).toBeUndefined();
});

test("aborting ends the wait", async () => {
  const controller = new AbortController();
  const waiting = createRateLimit(1).reserve(1000, controller.signal);
  controller.abort();
  await expect(waiting).rejects.toThrow("abort");
});
