import { afterEach, expect, test, vi } from "vitest";
import type { Lease } from "./load-request.ts";
import { createFixture, isSettled, release, settle } from "./test/fixture.ts";

afterEach(() => vi.useRealTimers());

const background = { isBackground: true } as const;
/** Each model needs 1,800 bytes with two sequences. */
const budgetForOne = { memoryBudgetBytes: 1800 };

test("a background request is served after all others, also those that arrive later", async () => {
  const fixture = createFixture({ sequences: 1 });
  const order: string[] = [];
  const running = await fixture.acquire("a");
  const serve = (name: string) => (lease: Lease) => {
    order.push(name);
    release(lease);
  };
  const all = [
    fixture.acquire("a", background).then(serve("background 1")),
    fixture.acquire("a").then(serve("client 1")),
    fixture.acquire("a", background).then(serve("background 2")),
    fixture.acquire("a").then(serve("client 2")),
  ];
  release(running);
  await Promise.all(all);
  expect(order).toEqual(["client 1", "client 2", "background 1", "background 2"]);
});

test("background requests leave the last free slot to clients, unless the model has only one", async () => {
  const fixture = createFixture({ sequences: 2 });
  const first = await fixture.acquire("a", background);
  const second = fixture.acquire("a", background);
  expect(await isSettled(second)).toBe(false);
  const client = fixture.acquire("a");
  expect(await isSettled(client)).toBe(true);
  release(first);
  expect(await isSettled(second)).toBe(false);
  release(await client);
  release(await second);
  const single = createFixture({ sequences: 1 });
  release(await single.acquire("a", background));
});

test("waiting background requests take no place in the queue of clients, and are never rejected as too many", async () => {
  const fixture = createFixture({ sequences: 1, maxQueuedPerModel: 1 });
  const running = await fixture.acquire("a");
  const waiting = [1, 2, 3].map(() => fixture.acquire("a", background));
  const client = fixture.acquire("a");
  expect(await isSettled(client)).toBe(false);
  await expect(fixture.acquire("a")).rejects.toMatchObject({ failure: { kind: "queue-full", waiting: 1 } });
  release(running);
  release(await client);
  for (const each of waiting) release(await each);
  expect(fixture.scheduler.queueLengths()[0]?.waiting).toBe(0);
});

test("a model for a background request is loaded after those of clients", async () => {
  const fixture = createFixture({ ...budgetForOne, sequences: 1 });
  const running = await fixture.acquire("a");
  const later = fixture.acquire("b", background);
  const client = fixture.acquire("c");
  release(running);
  release(await client);
  expect(await isSettled(later)).toBe(false);
  expect(fixture.loads).toHaveLength(2);
});

test("a background request evicts a model only after its clients have paused for a minute", async () => {
  vi.useFakeTimers();
  const fixture = createFixture(budgetForOne);
  release(await fixture.acquire("a"));
  const later = fixture.acquire("b", background);
  await settle();
  await vi.advanceTimersByTimeAsync(40_000);
  release(await fixture.acquire("a"));
  await vi.advanceTimersByTimeAsync(40_000);
  expect(fixture.unloads()).toEqual([]);
  await vi.advanceTimersByTimeAsync(30_000);
  release(await later);
  expect(fixture.unloads()).toEqual(["a evicted"]);
});

test("a client that needs the memory of a model does not wait for the queued background requests of that model", async () => {
  const fixture = createFixture({ ...budgetForOne, sequences: 1 });
  const running = await fixture.acquire("a", background);
  const queued = fixture.acquire("a", background);
  const client = fixture.acquire("b");
  release(running);
  release(await client);
  expect(await isSettled(queued)).toBe(false);
  expect(fixture.unloads()).toEqual(["a evicted"]);
});
