import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { estimateRetrySeconds, WaitingLine } from "./request-queue.ts";

function join(line: WaitingLine<string, string>, ticket: number, caller = new AbortController()) {
  let left = 0;
  const joined = line.join({ ticket, wish: `wish ${ticket}`, signal: caller.signal, onLeave: () => left++ });
  return { ...joined, caller, left: () => left };
}

test("who came first is served first, and knows how many were ahead", async () => {
  const line = new WaitingLine<string, string>();
  const [first, second] = [join(line, 1), join(line, 2)];
  expect([first.waiter.position, second.waiter.position]).toEqual([0, 1]);
  line.head?.give("one");
  line.head?.give("two");
  expect(await Promise.all([first.given, second.given])).toEqual(["one", "two"]);
  expect(line.length).toBe(0);
});

test("a caller that gives up is out at once with its own reason; the others keep their order", async () => {
  const line = new WaitingLine<string, string>();
  const waiters = [join(line, 1), join(line, 2), join(line, 3)];
  waiters[1]?.caller.abort(new Error("gone"));
  expect(line.wishes).toEqual(["wish 1", "wish 3"]);
  await expect(waiters[1]?.given).rejects.toThrow("gone");
  expect(waiters.map(({ left }) => left())).toEqual([0, 1, 0]);
});

test("nobody listens to a caller's signal once it was served or refused", async () => {
  const line = new WaitingLine<string, string>();
  const [served, refused] = [join(line, 1), join(line, 2)];
  expect(getEventListeners(served.caller.signal, "abort")).toHaveLength(1);
  line.head?.give("one");
  line.refuseAll(new Error("closed"));
  await expect(refused.given).rejects.toThrow("closed");
  for (const { caller } of [served, refused]) {
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
  }
});

test("the advice when to come again follows the length of leases, between 1 and 30 seconds", () => {
  const line = { waiting: 64, places: 4 };
  expect(estimateRetrySeconds({ ...line, meanLeaseMilliseconds: 0 })).toBe(1);
  expect(estimateRetrySeconds({ ...line, meanLeaseMilliseconds: 500 })).toBe(8);
  expect(estimateRetrySeconds({ ...line, meanLeaseMilliseconds: 60_000 })).toBe(30);
});
