import { expect, onTestFinished, test, vi } from "vitest";
import { type Candidate, chooseMember } from "./choose-member.ts";
import { MemberQueue, type MemberSlot } from "./member-queue.ts";
import { PoolMember } from "./pool-member.ts";
import { unaskedEngine } from "./test/idle-engine.ts";
import { never } from "./test/pool-fixture.ts";

const limit = 4;

/** A line before four members, which counts how often somebody is chosen. */
function setLine() {
  const members = ["a", "b", "c", "d"].map((label) => {
    const member = new PoolMember({ label, engine: unaskedEngine, close: () => undefined });
    member.isWell();
    return member;
  });
  let choices = 0;
  const choose = (candidates: readonly Candidate[], preferred: string | undefined) => {
    choices += 1;
    return chooseMember(candidates, preferred);
  };
  const line = new MemberQueue({
    members: new Map(members.map((member) => [member.label, member])),
    choose,
    mostRequests: limit,
    patience: { anyEngine: 10 },
  });
  const places: MemberSlot[] = [];
  const join = (since: number, preferred?: string): void => {
    const wish = { tried: new Set<PoolMember>(), mayMove: true, characters: since, since, preferred };
    void line.take(wish, never).then(
      (place) => places.push(place),
      () => undefined,
    );
  };
  return { line, members, places, join, choices: () => choices };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("two thousand who wait cost an arrival and an end nothing", async () => {
  const { line, members, places, join, choices } = setLine();
  const count = 2000;
  for (let index = 0; index < count; index += 1) join(index, index % 3 === 0 ? "b" : undefined);
  await settle();
  expect([places.length, line.length]).toEqual([4 * limit, count - 4 * limit]);
  // Whoever comes while nobody has a place is not compared with anybody.
  expect(choices()).toBe(4 * limit);
  const [first] = places;
  first?.member.giveBack(first.running);
  line.advance();
  await settle();
  expect([places.length, choices()]).toEqual([4 * limit + 1, 4 * limit + 1]);
  expect(members.map(({ running }) => running.size)).toEqual([limit, limit, limit, limit]);
  line.refuseAll(new Error("The test is over"));
});

test("a free member that is no help is thought of once, not by each who waits", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { line, members, join, choices } = setLine();
  const [slow, ...others] = members;
  vi.advanceTimersByTime(60_000);
  slow?.answer({ startedAt: performance.now() - 30_000 });
  for (const member of others) member.answer({ startedAt: performance.now() - 10 });
  for (let index = 0; index < 500; index += 1) join(index);
  await settle();
  expect(slow?.running.size).toBe(0);
  expect(line.length).toBe(500 - 3 * limit);
  const before = choices();
  line.advance();
  expect(choices() - before).toBe(1);
  line.refuseAll(new Error("The test is over"));
});

test("who comes back from a busy member stands where it stood", async () => {
  const { line, members, places, join } = setLine();
  for (const member of members) member.isBusy(5);
  join(2);
  join(3);
  join(1);
  await settle();
  expect([places.length, line.length]).toEqual([0, 3]);
  const [first] = members;
  first?.answer({ startedAt: performance.now() });
  line.advance();
  await settle();
  expect(places.map(({ running }) => running.characters)).toEqual([1, 2, 3]);
});
