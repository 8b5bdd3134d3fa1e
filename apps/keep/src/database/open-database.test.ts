import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAccountLimiter } from "./open-database.ts";

const limits = { maxConcurrent: 2, maxWaiting: 3, maxWaitMilliseconds: 60_000 };

/** Work that runs until `end` is called. */
function startWork() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test("one account runs at most its share at a time, in order, while another runs at once", async () => {
  const limiter = createAccountLimiter(limits);
  const started: string[] = [];
  const jobs = ["a", "b", "c", "d"].map((name) => ({ name, ...startWork() }));
  const results = jobs.map(({ name, work }) =>
    limiter.run("busy", () => {
      started.push(name);
      return work();
    }),
  );
  expect(await limiter.run("other", () => Promise.resolve("served"))).toBe("served");
  expect(started).toEqual(["a", "b"]);
  jobs[1]?.end();
  await results[1];
  await sleep(0);
  expect(started).toEqual(["a", "b", "c"]);
  for (const { end } of jobs) end();
  await Promise.all(results);
  expect(started).toEqual(["a", "b", "c", "d"]);
});

test("a full queue and a long wait are refused, and neither costs the account a turn", async () => {
  const limiter = createAccountLimiter({ ...limits, maxWaitMilliseconds: 20 });
  const held = [startWork(), startWork()];
  const running = held.map(({ work }) => limiter.run("busy", work));
  const waiting = Array.from({ length: 3 }, () => limiter.run("busy", () => Promise.resolve("late")));
  await expect(limiter.run("busy", () => Promise.resolve())).rejects.toMatchObject({
    failure: { kind: "account-busy" },
  });
  const outcomes = await Promise.allSettled(waiting);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  for (const { end } of held) end();
  await Promise.all(running);
  const after = Array.from({ length: 5 }, (_, index) => limiter.run("busy", () => Promise.resolve(index)));
  expect(await Promise.all(after)).toEqual([0, 1, 2, 3, 4]);
});

test("work that fails gives its turn back", async () => {
  const limiter = createAccountLimiter({ ...limits, maxConcurrent: 1 });
  await expect(limiter.run("busy", () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await limiter.run("busy", () => Promise.resolve("served"))).toBe("served");
});
