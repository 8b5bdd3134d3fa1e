import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LoadRequest } from "./load-request.ts";
import type { RunningModel } from "./running-models.ts";
import { createFixture, isSettled, release, type SchedulerFixture, settle } from "./test/fixture.ts";

/** Two models with the same weights; "c" has others. */
const sameWeights: Partial<LoadRequest> = { loadKey: "weights", modelPath: "weights.gguf" };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function usersOf({ scheduler }: SchedulerFixture): readonly RunningModel["users"][] {
  return scheduler.running().map(({ users }) => users);
}

function keysOf(fixture: SchedulerFixture): readonly (readonly string[])[] {
  return usersOf(fixture).map((users) => users.map(({ key }) => key));
}

async function useOnce(
  fixture: SchedulerFixture,
  key: string,
  changes: Partial<LoadRequest> = {},
): Promise<void> {
  release(await fixture.acquire(key, { ...sameWeights, ...changes }));
}

test("models with the same weights use one load, and others have their own", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a");
  await useOnce(fixture, "b");
  expect([fixture.loads.length, keysOf(fixture)]).toEqual([1, [["a", "b"]]]);
  release(await fixture.acquire("c"));
  expect([fixture.loads.length, keysOf(fixture)]).toEqual([2, [["a", "b"], ["c"]]]);
});

test("concurrent requests to models with the same weights wait for the same load", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const leases = ["a", "b"].map((key) => fixture.acquire(key, sameWeights));
  await settle();
  expect(fixture.loads).toHaveLength(1);
  fixture.loads[0]?.finish();
  const [one, other] = await Promise.all(leases);
  expect(one?.engine).toBe(other?.engine);
});

test("unloading one model leaves the load to the others, and unloading the last one frees it", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a");
  await useOnce(fixture, "b");
  await fixture.scheduler.unload("a");
  expect([fixture.running(), keysOf(fixture)]).toEqual([1, [["b"]]]);
  await fixture.scheduler.unload("b");
  expect(fixture.running()).toBe(0);
});

test("deleting one model rejects its queued requests only, and does not stop those of others", async () => {
  const fixture = createFixture({ sequences: 1 });
  const running = await fixture.acquire("b", sameWeights);
  const deleted = fixture.acquire("a", sameWeights);
  const queued = fixture.acquire("b", sameWeights);
  const [, rejected] = await Promise.allSettled([
    fixture.scheduler.unload("a", { graceSeconds: 0 }),
    deleted,
  ]);
  expect(rejected).toMatchObject({ reason: { failure: { kind: "engine-unloaded" } } });
  expect([fixture.running(), await isSettled(queued)]).toEqual([1, false]);
  release(running);
  release(await queued);
  expect(fixture.loads).toHaveLength(1);
});

test("the load stays for the longest keep-alive, and each model is listed until its own ends", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a", { keepAlive: 10 });
  await useOnce(fixture, "b", { keepAlive: 60 });
  expect(usersOf(fixture)).toEqual([
    [
      { key: "a", expiresAt: new Date(Date.now() + 10_000) },
      { key: "b", expiresAt: new Date(Date.now() + 60_000) },
    ],
  ]);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(keysOf(fixture)).toEqual([["b"]]);
  await useOnce(fixture, "a", { keepAlive: 0 });
  expect(keysOf(fixture)).toEqual([["b"]]);
  await vi.advanceTimersByTimeAsync(50_000);
  expect([fixture.running(), fixture.loads.length]).toEqual([0, 1]);
});

test("a model that is loaded to generate embeds without another load, and its second context is counted", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a");
  const before = fixture.scheduler.running()[0]?.memoryBytes ?? 0;
  const lease = await fixture.acquire("a", { ...sameWeights, purpose: "embed" });
  expect([fixture.loads.length, lease.engine]).toEqual([1, fixture.loads[0]?.engine]);
  // Four bytes for each of its 100 tokens.
  expect(fixture.scheduler.running()).toMatchObject([{ purpose: "generate", memoryBytes: before + 400 }]);
  release(lease);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fixture.scheduler.running()).toMatchObject([{ memoryBytes: before }]);
});

test("the keep-alive of a request that embeds does not shorten that of the chat", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a", { keepAlive: 60 });
  await useOnce(fixture, "a", { purpose: "embed", keepAlive: 0 });
  expect(usersOf(fixture)).toEqual([[{ key: "a", expiresAt: new Date(Date.now() + 60_000) }]]);
  await fixture.scheduler.unload("a");
  expect(fixture.running()).toBe(0);
});

test("a model that was loaded to embed is loaded again to generate", async () => {
  const fixture = createFixture();
  await useOnce(fixture, "a", { purpose: "embed" });
  await useOnce(fixture, "a");
  expect(fixture.loads.map(({ plan }) => plan.purpose)).toEqual(["embed", "generate"]);
});

test("without memory for a second context, a request that embeds gets a load of its own", async () => {
  // 1,800 bytes are loaded, 400 more do not fit; 1,400 alone do.
  const fixture = createFixture({ memoryBudgetBytes: 2000 });
  await useOnce(fixture, "a");
  await useOnce(fixture, "a", { purpose: "embed" });
  expect(fixture.loads.map(({ plan }) => plan.purpose)).toEqual(["generate", "embed"]);
  expect(fixture.unloads()).toEqual(["a evicted"]);
});
