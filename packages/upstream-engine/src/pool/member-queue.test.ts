import { expect, onTestFinished, test, vi } from "vitest";
import { type Candidate, chooseMember } from "./choose-member.ts";
import { MemberQueue, type MemberSlot } from "./member-queue.ts";
import { PoolMember } from "./pool-member.ts";
import { idleEngine } from "./test/idle-engine.ts";
import { never } from "./test/pool-fixture.ts";

const limit = 4;

/** A queue with four members that counts how often a member is chosen. */
function createQueue() {
  const members = ["a", "b", "c", "d"].map((label) => {
    const member = new PoolMember({ label, engine: idleEngine, close: () => undefined });
    member.recordHealthy();
    return member;
  });
  let choices = 0;
  const choose = (candidates: readonly Candidate[], preferred: string | undefined) => {
    choices += 1;
    return chooseMember(candidates, preferred);
  };
  const queue = new MemberQueue({
    members: new Map(members.map((member) => [member.label, member])),
    choose,
    maxRequestsPerEngine: limit,
    timeouts: { anyEngine: 10 },
  });
  const slots: MemberSlot[] = [];
  const enqueue = (since: number, preferred?: string): void => {
    const request = { tried: new Set<PoolMember>(), mayMove: true, characters: since, since, preferred };
    void queue.acquire(request, never).then(
      (slot) => slots.push(slot),
      () => undefined,
    );
  };
  return { queue, members, slots, enqueue, choices: () => choices };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("two thousand queued requests do not slow down arrivals and completions", async () => {
  const { queue, members, slots, enqueue, choices } = createQueue();
  const count = 2000;
  for (let index = 0; index < count; index += 1) enqueue(index, index % 3 === 0 ? "b" : undefined);
  await settle();
  expect([slots.length, queue.length]).toEqual([4 * limit, count - 4 * limit]);
  // Requests that arrive while no slot is free trigger no choice.
  expect(choices()).toBe(4 * limit);
  const [first] = slots;
  first?.member.removeRequest(first.running);
  queue.advance();
  await settle();
  expect([slots.length, choices()]).toEqual([4 * limit + 1, 4 * limit + 1]);
  expect(members.map(({ running }) => running.size)).toEqual([limit, limit, limit, limit]);
  queue.rejectAll(new Error("End of test"));
});

test("a free but slow member is considered once per change, not once per queued request", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { queue, members, enqueue, choices } = createQueue();
  const [slow, ...others] = members;
  vi.advanceTimersByTime(60_000);
  slow?.recordFirstToken({ startedAt: performance.now() - 30_000 });
  for (const member of others) member.recordFirstToken({ startedAt: performance.now() - 10 });
  for (let index = 0; index < 500; index += 1) enqueue(index);
  await settle();
  expect(slow?.running.size).toBe(0);
  expect(queue.length).toBe(500 - 3 * limit);
  const before = choices();
  queue.advance();
  expect(choices() - before).toBe(1);
  queue.rejectAll(new Error("End of test"));
});

test("a request that returns from a busy member keeps its position in the queue", async () => {
  const { queue, members, slots, enqueue } = createQueue();
  for (const member of members) member.recordBusy(5);
  enqueue(2);
  enqueue(3);
  enqueue(1);
  await settle();
  expect([slots.length, queue.length]).toEqual([0, 3]);
  const [first] = members;
  first?.recordFirstToken({ startedAt: performance.now() });
  queue.advance();
  await settle();
  expect(slots.map(({ running }) => running.characters)).toEqual([1, 2, 3]);
});
