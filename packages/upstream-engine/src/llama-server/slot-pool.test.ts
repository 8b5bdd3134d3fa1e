import { expect, test } from "vitest";
import { type LeasedSlot, ServerSlotPool } from "./slot-pool.ts";

const never = new AbortController().signal;
const secret = [5, 6, 7, 8];

function idlePool(isIdle: () => Promise<boolean> = () => Promise.resolve(true)): ServerSlotPool {
  return new ServerSlotPool(1, isIdle);
}

function acquire(pool: ServerSlotPool, partition: string, signal = never): Promise<LeasedSlot> {
  return pool.acquire({ prompt: secret, partition, signal });
}

/** Runs a request to completion, which leaves the prompt in the slot. */
async function complete(pool: ServerSlotPool, partition: string): Promise<void> {
  const slot = await acquire(pool, partition);
  slot.setTokens(secret);
  slot.release("finished");
}

test("after a request that never started, the slot is foreign to every partition", async () => {
  const pool = idlePool();
  await complete(pool, "alice");
  const slot = await acquire(pool, "bob");
  expect(slot).toMatchObject({ isForeign: true, commonTokens: 0 });
  slot.release("not-started");
  const next = await acquire(pool, "bob");
  expect(next).toMatchObject({ isForeign: true, commonTokens: 0 });
  next.release("not-started");
  // The aborted request may have been evaluated in part, so even the previous owner cannot reuse the slot.
  expect(await acquire(pool, "alice")).toMatchObject({ isForeign: true, commonTokens: 0 });
});

test("a slot belongs to the partition whose tokens were evaluated last, even if the request was aborted", async () => {
  const pool = idlePool();
  await complete(pool, "alice");
  const slot = await acquire(pool, "bob");
  slot.setTokens(secret.slice(0, 2));
  slot.release("aborted");
  expect(await acquire(pool, "bob")).toMatchObject({ isForeign: false, commonTokens: 2 });
});

test("a request of the same partition that never started keeps the cached tokens", async () => {
  const pool = idlePool();
  await complete(pool, "alice");
  (await acquire(pool, "alice")).release("not-started");
  expect(await acquire(pool, "alice")).toMatchObject({ isForeign: false, commonTokens: secret.length - 1 });
});

test("a step that completes after its client disconnected assigns the slot to that client before it is reused", async () => {
  const pool = idlePool();
  await complete(pool, "alice");
  const slot = await acquire(pool, "bob");
  const step = Promise.withResolvers<void>();
  slot.holdUntil(step.promise.then(() => slot.setTokens(secret)));
  slot.release("not-started");
  const next = acquire(pool, "bob");
  step.resolve();
  expect(await next).toMatchObject({ isForeign: false, commonTokens: secret.length - 1 });
});

test("an already aborted request does not wait for a slot", async () => {
  const pool = idlePool();
  await acquire(pool, "alice");
  const aborted = AbortSignal.abort(new Error("disconnected"));
  await expect(acquire(pool, "bob", aborted)).rejects.toThrow("disconnected");
});
