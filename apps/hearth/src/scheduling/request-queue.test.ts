import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { estimateRetrySeconds, RequestQueue } from "./request-queue.ts";

function enqueue(queue: RequestQueue<string, string>, ticket: number, client = new AbortController()) {
  let aborts = 0;
  const entry = queue.enqueue({
    ticket,
    request: `request ${ticket}`,
    signal: client.signal,
    onAbort: () => aborts++,
  });
  return { ...entry, client, aborts: () => aborts };
}

test("requests are served in order and know how many were ahead", async () => {
  const queue = new RequestQueue<string, string>();
  const [first, second] = [enqueue(queue, 1), enqueue(queue, 2)];
  expect([first.queued.position, second.queued.position]).toEqual([0, 1]);
  queue.head?.resolve("one");
  queue.head?.resolve("two");
  expect(await Promise.all([first.result, second.result])).toEqual(["one", "two"]);
  expect(queue.length).toBe(0);
});

test("an aborted request leaves at once with its own reason; the others keep their order", async () => {
  const queue = new RequestQueue<string, string>();
  const entries = [enqueue(queue, 1), enqueue(queue, 2), enqueue(queue, 3)];
  entries[1]?.client.abort(new Error("gone"));
  expect(queue.requests).toEqual(["request 1", "request 3"]);
  await expect(entries[1]?.result).rejects.toThrow("gone");
  expect(entries.map(({ aborts }) => aborts())).toEqual([0, 1, 0]);
});

test("no abort listener remains after a request is served or rejected", async () => {
  const queue = new RequestQueue<string, string>();
  const [served, rejected] = [enqueue(queue, 1), enqueue(queue, 2)];
  expect(getEventListeners(served.client.signal, "abort")).toHaveLength(1);
  queue.head?.resolve("one");
  queue.rejectAll(new Error("closed"));
  await expect(rejected.result).rejects.toThrow("closed");
  for (const { client } of [served, rejected]) {
    expect(getEventListeners(client.signal, "abort")).toHaveLength(0);
  }
});

test("the retry delay follows the duration of leases, between 1 and 30 seconds", () => {
  const load = { waiting: 64, slots: 4 };
  expect(estimateRetrySeconds({ ...load, meanLeaseMilliseconds: 0 })).toBe(1);
  expect(estimateRetrySeconds({ ...load, meanLeaseMilliseconds: 500 })).toBe(8);
  expect(estimateRetrySeconds({ ...load, meanLeaseMilliseconds: 60_000 })).toBe(30);
});
