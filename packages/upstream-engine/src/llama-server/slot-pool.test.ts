import { expect, test } from "vitest";
import { type LeasedSlot, ServerSlotPool } from "./slot-pool.ts";

const never = new AbortController().signal;
const secret = [5, 6, 7, 8];

function idlePool(isIdle: () => Promise<boolean> = () => Promise.resolve(true)): ServerSlotPool {
  return new ServerSlotPool(1, isIdle);
}

function lend(pool: ServerSlotPool, partition: string, signal = never): Promise<LeasedSlot> {
  return pool.lend({ prompt: secret, partition, signal });
}

/** Asks, is answered, and leaves the prompt in the slot. */
async function answer(pool: ServerSlotPool, partition: string): Promise<void> {
  const slot = await lend(pool, partition);
  slot.note(secret);
  slot.giveBack("ended");
}

test("a request that never began leaves a slot foreign to its caller and to everybody else", async () => {
  const pool = idlePool();
  await answer(pool, "alice");
  const begun = await lend(pool, "bob");
  expect(begun).toMatchObject({ isForeign: true, commonTokens: 0 });
  begun.giveBack("unheard");
  const again = await lend(pool, "bob");
  expect(again).toMatchObject({ isForeign: true, commonTokens: 0 });
  again.giveBack("unheard");
  // What was cut off on its way may have been read in part, so even the former owner finds nothing of hers.
  expect(await lend(pool, "alice")).toMatchObject({ isForeign: true, commonTokens: 0 });
});

test("a slot belongs to whom the engine has read something for, whether or not the answer was heard to its end", async () => {
  const pool = idlePool();
  await answer(pool, "alice");
  const slot = await lend(pool, "bob");
  slot.note(secret.slice(0, 2));
  slot.giveBack("cut off");
  expect(await lend(pool, "bob")).toMatchObject({ isForeign: false, commonTokens: 2 });
});

test("a request of one's own that never began costs nothing of what is there", async () => {
  const pool = idlePool();
  await answer(pool, "alice");
  (await lend(pool, "alice")).giveBack("unheard");
  expect(await lend(pool, "alice")).toMatchObject({ isForeign: false, commonTokens: secret.length - 1 });
});

test("a step that goes on after its caller left makes the slot its caller's before anybody else has it", async () => {
  const pool = idlePool();
  await answer(pool, "alice");
  const slot = await lend(pool, "bob");
  const step = Promise.withResolvers<void>();
  slot.occupy(step.promise.then(() => slot.note(secret)));
  slot.giveBack("unheard");
  const next = lend(pool, "bob");
  step.resolve();
  expect(await next).toMatchObject({ isForeign: false, commonTokens: secret.length - 1 });
});

test("somebody who left already is not kept waiting for a slot", async () => {
  const pool = idlePool();
  await lend(pool, "alice");
  const left = AbortSignal.abort(new Error("left"));
  await expect(lend(pool, "bob", left)).rejects.toThrow("left");
});
