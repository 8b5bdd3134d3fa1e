import { expect, test } from "vitest";
import { modelFailure } from "../model-failure.ts";
import { PassingProblem, readRetryAfter, tryAgain } from "./retry-policy.ts";

const patience = { tries: 3, firstWaitMilliseconds: 1, longestWaitMilliseconds: 2 };
const { signal } = new AbortController();
const broken = modelFailure({ kind: "registry-unreachable", host: "a", reason: "broken" });
const refused = modelFailure({ kind: "registry-refused", host: "a", status: 403 });

test("what passes is tried again, so often and no more", async () => {
  let calls = 0;
  const result = await tryAgain(
    async () => {
      calls += 1;
      if (calls < 3) throw calls === 1 ? broken : new PassingProblem(refused);
      return "here";
    },
    { patience, signal },
  );
  expect([result, calls]).toEqual(["here", 3]);
  await expect(
    tryAgain(() => Promise.reject(new PassingProblem(refused)), { patience, signal }),
  ).rejects.toBe(refused);
});

test("what does not pass is not tried again", async () => {
  let calls = 0;
  const work = () => ((calls += 1), Promise.reject(refused));
  await expect(tryAgain(work, { patience, signal })).rejects.toBe(refused);
  expect(calls).toBe(1);
});

test("a wait ends when the caller leaves", async () => {
  const leaving = new AbortController();
  const trying = tryAgain(() => Promise.reject(new PassingProblem(broken, 60)), {
    patience,
    signal: leaving.signal,
  });
  leaving.abort();
  await expect(trying).rejects.toThrow("abort");
});

test("a registry says in seconds or by a date when to come back, and we do not wait for ever", () => {
  expect(readRetryAfter("7")).toBe(7);
  expect(readRetryAfter("86400")).toBe(60);
  expect(readRetryAfter(new Date(Date.now() + 20_000).toUTCString())).toBeGreaterThan(15);
  for (const header of [undefined, "", "soon", "-5", new Date(0).toUTCString()])
    expect(readRetryAfter(header)).toBe(0);
});
