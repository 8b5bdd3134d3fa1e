import { expect, test } from "vitest";
import { modelFailure } from "../model-failure.ts";
import { parseRetryAfter, retry, TransientError } from "./retry-policy.ts";

const retryPolicy = { maxAttempts: 3, initialDelayMilliseconds: 1, maxDelayMilliseconds: 2 };
const { signal } = new AbortController();
const broken = modelFailure({ kind: "registry-unreachable", host: "a", reason: "broken" });
const refused = modelFailure({ kind: "registry-refused", host: "a", status: 403 });

test("transient errors are retried up to the maximum number of attempts", async () => {
  let calls = 0;
  const result = await retry(
    async () => {
      calls += 1;
      if (calls < 3) throw calls === 1 ? broken : new TransientError(refused);
      return "here";
    },
    { retryPolicy, signal },
  );
  expect([result, calls]).toEqual(["here", 3]);
  await expect(
    retry(() => Promise.reject(new TransientError(refused)), { retryPolicy, signal }),
  ).rejects.toBe(refused);
});

test("other errors are not retried", async () => {
  let calls = 0;
  const work = () => ((calls += 1), Promise.reject(refused));
  await expect(retry(work, { retryPolicy, signal })).rejects.toBe(refused);
  expect(calls).toBe(1);
});

test("aborting ends the wait before a retry", async () => {
  const controller = new AbortController();
  const trying = retry(() => Promise.reject(new TransientError(broken, 60)), {
    retryPolicy,
    signal: controller.signal,
  });
  controller.abort();
  await expect(trying).rejects.toThrow("abort");
});

test("Retry-After in seconds or as a date is honoured up to a limit", () => {
  expect(parseRetryAfter("7")).toBe(7);
  expect(parseRetryAfter("86400")).toBe(60);
  expect(parseRetryAfter(new Date(Date.now() + 20_000).toUTCString())).toBeGreaterThan(15);
  for (const header of [undefined, "", "soon", "-5", new Date(0).toUTCString()])
    expect(parseRetryAfter(header)).toBe(0);
});
