import { getEventListeners } from "node:events";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { crash, crashEngine } from "./test/fake-driver.ts";
import { createFixture, isSettled, loadRequest, release, settle } from "./test/fixture.ts";

test("a loaded model is leased again without another load", async () => {
  const fixture = createFixture();
  const first = await fixture.acquire("a");
  const second = await fixture.acquire("a");
  expect(fixture.loads).toHaveLength(1);
  expect(second.engine).toBe(first.engine);
  expect([second.loadMilliseconds, second.position]).toEqual([0, 0]);
  expect(fixture.scheduler.running()).toMatchObject([
    { key: "a", contextTokens: 100, sequences: 2, memoryBytes: 1800, gpuBytes: 0, leases: 2, waiting: 0 },
  ]);
});

test("the same model is loaded separately for embedding and ranking, with one sequence each", async () => {
  const fixture = createFixture();
  await Promise.all(
    (["generate", "embed", "rank"] as const).map((purpose) => fixture.acquire("a", { purpose })),
  );
  expect(fixture.loads.map(({ plan }) => [plan.purpose, plan.sequences])).toEqual([
    ["generate", 2],
    ["embed", 1],
    ["rank", 1],
  ]);
});

test("the load plan has the files of the load request", async () => {
  const fixture = createFixture();
  await fixture.acquire("a", {
    adapters: [{ path: "tone.gguf", scale: 0.5 }],
    projectorPath: "projector.gguf",
  });
  expect(fixture.loads[0]?.plan).toMatchObject({
    modelPath: "a.gguf",
    adapters: [{ path: "tone.gguf", scale: 0.5 }],
    projectorPath: "projector.gguf",
  });
});

test("requests that arrive during a load share it, and report load time and queue time separately", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = [fixture.acquire("a"), fixture.acquire("a"), fixture.acquire("a")];
  await new Promise((resolve) => setTimeout(resolve, 30));
  fixture.loads[0]?.finish();
  const [first] = await Promise.all(pending.slice(0, 2));
  await new Promise((resolve) => setTimeout(resolve, 30));
  if (first !== undefined) release(first);
  const third = await pending[2];
  expect(fixture.loads).toHaveLength(1);
  expect(first?.loadMilliseconds).toBeGreaterThan(25);
  expect(first?.queueMilliseconds).toBeLessThan(first?.loadMilliseconds ?? 0);
  expect(third?.loadMilliseconds).toBeGreaterThan(25);
  expect(third?.queueMilliseconds).toBeGreaterThan(25);
  expect(third?.position).toBe(2);
});

test("a load is cancelled only when the last waiting request is aborted", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const clients = [new AbortController(), new AbortController()];
  const pending = clients.map(({ signal }) => fixture.acquire("a", {}, signal));
  clients[0]?.abort(new Error("first gone"));
  await expect(pending[0]).rejects.toThrow("first gone");
  expect(fixture.loads[0]?.signal.aborted).toBe(false);
  clients[1]?.abort(new Error("second gone"));
  await expect(pending[1]).rejects.toThrow("second gone");
  expect(fixture.loads[0]?.signal.aborted).toBe(true);
  await settle();
  expect(fixture.events.map(({ type }) => type)).toEqual(["load-cancelled"]);
  expect(fixture.scheduler.queueLengths()).toEqual([]);
});

test("a request that arrives while a load is being cancelled gets its own load", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const client = new AbortController();
  const aborted = fixture.acquire("a", {}, client.signal);
  client.abort(new Error("gone"));
  const next = fixture.acquire("a");
  await expect(aborted).rejects.toThrow("gone");
  await settle();
  expect(fixture.loads).toHaveLength(2);
  fixture.loads[1]?.finish();
  expect((await next).engine).toBe(fixture.loads[1]?.engine);
});

test("a failed load rejects all waiting requests with the same reason; the next request tries again", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = [fixture.acquire("a"), fixture.acquire("a"), fixture.acquire("a")];
  const failure = { kind: "model-invalid", reason: "no tensors" } as const;
  fixture.loads[0]?.fail(failure);
  const outcomes = await Promise.allSettled(pending);
  expect(outcomes).toMatchObject(pending.map(() => ({ status: "rejected", reason: { failure } })));
  const again = fixture.acquire("a");
  fixture.loads[1]?.finish();
  expect((await again).engine).toBe(fixture.loads[1]?.engine);
});

test("a model whose engine crashed is unloaded, and the next request loads it again", async () => {
  const fixture = createFixture();
  const lease = await fixture.acquire("a");
  await crashEngine(fixture.loads[0]?.engine);
  await settle();
  expect(fixture.scheduler.running()).toEqual([]);
  expect(fixture.events.at(-1)).toMatchObject({ type: "model-unloaded", reason: "crashed", failure: crash });
  const next = await fixture.acquire("a");
  release(lease);
  expect(next.engine).toBe(fixture.loads[1]?.engine);
  expect(fixture.scheduler.running()).toMatchObject([{ leases: 1 }]);
});

test("requests queued when the engine crashes are served by the next load", async () => {
  const fixture = createFixture({ sequences: 1 });
  await fixture.acquire("a");
  const waiting = fixture.acquire("a");
  await crashEngine(fixture.loads[0]?.engine);
  expect((await waiting).engine).toBe(fixture.loads[1]?.engine);
});

test("a model has as many concurrent leases as sequences; other requests wait in order", async () => {
  const fixture = createFixture();
  const running = [await fixture.acquire("a"), await fixture.acquire("a")];
  const waiting = [fixture.acquire("a"), fixture.acquire("a")] as const;
  expect(await isSettled(waiting[0])).toBe(false);
  running.slice(0, 1).forEach(release);
  running.slice(0, 1).forEach(release);
  expect(await isSettled(waiting[0])).toBe(true);
  expect(await isSettled(waiting[1])).toBe(false);
  expect(fixture.scheduler.queueLengths()).toEqual([
    { key: "a", purpose: "generate", leases: 2, waiting: 1 },
  ]);
});

test("a client that disconnects frees its position in the queue", async () => {
  const fixture = createFixture({ sequences: 1, maxQueuedPerModel: 1 });
  const lease = await fixture.acquire("a");
  const client = new AbortController();
  const aborted = fixture.acquire("a", {}, client.signal);
  await expect(fixture.acquire("a")).rejects.toMatchObject({ failure: { kind: "queue-full", waiting: 1 } });
  client.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  const next = fixture.acquire("a");
  release(lease);
  expect((await next).engine).toBe(lease.engine);
});

test("a request that is already aborted is never queued", async () => {
  const fixture = createFixture();
  await expect(fixture.acquire("a", {}, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  expect(fixture.loads).toHaveLength(0);
});

test("without a queue, as many requests are accepted as there are sequences", async () => {
  const fixture = createFixture({ maxQueuedPerModel: 0 });
  const outcomes = await Promise.allSettled([
    fixture.acquire("a"),
    fixture.acquire("a"),
    fixture.acquire("a"),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
});

test("the limit on all queues together applies even if each queue has room", async () => {
  const fixture = createFixture({ sequences: 1, maxQueuedPerModel: 2, maxQueuedTotal: 3 });
  const keys = ["a", "a", "a", "b", "b", "b"];
  const pending = keys.map((key) => fixture.acquire(key));
  await expect(pending[5]).rejects.toMatchObject({ failure: { kind: "queue-full", retryAfterSeconds: 1 } });
  expect(fixture.scheduler.queueLengths().map(({ waiting }) => waiting)).toEqual([2, 1]);
  expect(fixture.events.filter(({ type }) => type === "queue-full")).toHaveLength(1);
  await Promise.allSettled([...pending, fixture.scheduler.close(0)]);
});

test("of 1,000 concurrent requests with 4 sequences and a queue of 64, exactly 68 are accepted, in order", async () => {
  const fixture = createFixture({ sequences: 4, maxQueuedPerModel: 64 });
  const served: number[] = [];
  const client = new AbortController();
  const pending = Array.from({ length: 1000 }, async (_none, index) => {
    const lease = await fixture.acquire("a", {}, client.signal);
    await settle();
    served.push(index);
    release(lease);
  });
  const outcomes = await Promise.allSettled(pending);
  const rejected = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(served).toEqual(Array.from({ length: 68 }, (_none, index) => index));
  expect(rejected).toHaveLength(932);
  for (const { failure } of rejected)
    expect(failure).toMatchObject({ kind: "queue-full", retryAfterSeconds: 1 });
  expect(getEventListeners(client.signal, "abort")).toHaveLength(0);
  recordFigure({
    claim: "families 12",
    text: `the scheduler accepts ${served.length} of 1,000 concurrent requests with 4 sequences and a queue of 64`,
    counted: { reached: served.length, needed: 68 },
  });
});

test("preloading loads a model with its keep-alive and holds no lease", async () => {
  const fixture = createFixture();
  await fixture.scheduler.preload(loadRequest("a", { keepAlive: "forever" }), new AbortController().signal);
  expect(fixture.scheduler.running()).toMatchObject([{ key: "a", leases: 0, expiresAt: "never" }]);
});
