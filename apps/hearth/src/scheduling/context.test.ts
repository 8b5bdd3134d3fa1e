import { recordFigure } from "@hearth-and-keep/figures";
import { expect, onTestFinished, test, vi } from "vitest";
import { crashEngine } from "./test/fake-driver.ts";
import { createFixture, isSettled, release, settle } from "./test/fixture.ts";

test("a model is loaded with the default context, or its trained context if that is less", async () => {
  const fixture = createFixture();
  expect((await fixture.acquire("a")).contextTokens).toBe(100);
  expect((await fixture.acquire("b", { trainedContextTokens: 64 })).contextTokens).toBe(64);
});

test("a request can ask for more context, up to what the model was trained on", async () => {
  const fixture = createFixture();
  expect((await fixture.acquire("a", { contextTokens: 500 })).contextTokens).toBe(500);
  expect((await fixture.acquire("b", { contextTokens: 5000 })).contextTokens).toBe(1000);
});

test("requests that fit into the loaded context never cause a reload", async () => {
  const fixture = createFixture();
  let requests = 0;
  for (; requests < 200; requests += 1) {
    release(await fixture.acquire("a", { contextTokens: [1000, 10, 500, 5000][requests % 4] ?? 0 }));
  }
  release(await fixture.acquire("a"));
  expect(fixture.loads).toHaveLength(1);
  const reloads = fixture.loads.length - 1;
  recordFigure({
    claim: "families 13",
    text: `${requests} requests with four different contexts: ${reloads} reloads for a smaller one`,
    counted: { reached: requests, needed: 200 },
  });
});

/** Fits 400 tokens of context for two sequences, but not beside another instance. */
const budgetForOneInstance = { memoryBudgetBytes: 4200 };

test("without memory for two instances, a request for more context waits until the model is idle, and smaller ones are served meanwhile", async () => {
  const fixture = createFixture(budgetForOneInstance);
  const running = await fixture.acquire("a");
  const larger = fixture.acquire("a", { contextTokens: 400 });
  const smaller = await fixture.acquire("a");
  expect(smaller.engine).toBe(running.engine);
  expect(await isSettled(larger)).toBe(false);
  release(running);
  expect(await isSettled(larger)).toBe(false);
  release(smaller);
  expect((await larger).contextTokens).toBe(400);
  expect(fixture.unloads()).toEqual(["a outgrown"]);
});

test("smaller requests overtake one that needs more context for half a minute, then they wait behind it", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const fixture = createFixture(budgetForOneInstance);
  const running = await fixture.acquire("a");
  const larger = fixture.acquire("a", { contextTokens: 400 });
  vi.advanceTimersByTime(29_000);
  release(await fixture.acquire("a"));
  vi.advanceTimersByTime(2000);
  const behind = fixture.acquire("a");
  expect(await isSettled(behind)).toBe(false);
  release(running);
  expect((await behind).engine).toBe((await larger).engine);
  expect(fixture.loads).toHaveLength(2);
});

test("a larger context is loaded beside the model, whose requests go on until their end", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = fixture.acquire("a");
  fixture.loads[0]?.finish();
  const running = await pending;
  const larger = fixture.acquire("a", { contextTokens: 400 });
  expect(fixture.loads).toHaveLength(2);
  const meanwhile = await fixture.acquire("a");
  expect([meanwhile.engine === running.engine, meanwhile.loadMilliseconds]).toEqual([true, 0]);
  release(meanwhile);
  expect(fixture.scheduler.running()).toMatchObject([
    { contextTokens: 100, memoryBytes: 1800 + 4200, leases: 1, waiting: 1 },
  ]);
  fixture.loads[1]?.finish();
  const lease = await larger;
  expect([lease.contextTokens, (await fixture.acquire("a")).engine === lease.engine]).toEqual([400, true]);
  expect(running.isWanted()).toBe(true);
  expect([fixture.running(), fixture.unloads()]).toEqual([2, []]);
  release(running);
  await settle();
  expect([fixture.running(), fixture.unloads()]).toEqual([1, ["a outgrown"]]);
  expect(fixture.scheduler.running()).toMatchObject([{ contextTokens: 400, memoryBytes: 4200, leases: 2 }]);
});

test("if no request needs the larger context any longer, its load is cancelled and the model stays", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = fixture.acquire("a");
  fixture.loads[0]?.finish();
  release(await pending);
  const client = new AbortController();
  const larger = fixture.acquire("a", { contextTokens: 400 }, client.signal);
  client.abort(new Error("gone"));
  await expect(larger).rejects.toThrow("gone");
  await settle();
  expect(fixture.events.map(({ type }) => type)).toEqual(["model-loaded", "load-cancelled"]);
  release(await fixture.acquire("a"));
  expect([fixture.loads.length, fixture.running()]).toEqual([2, 1]);
});

test("if a larger context cannot be loaded, only the requests that need it are rejected", async () => {
  const fixture = createFixture({ sequences: 1 }, { isHeld: true });
  const pending = fixture.acquire("a");
  fixture.loads[0]?.finish();
  const running = await pending;
  const larger = fixture.acquire("a", { contextTokens: 400 });
  const smaller = fixture.acquire("a");
  fixture.loads[1]?.fail({ kind: "load-timed-out", seconds: 60 });
  await expect(larger).rejects.toMatchObject({ failure: { kind: "load-timed-out" } });
  release(running);
  expect((await smaller).engine).toBe(running.engine);
});

test("if a model crashes while a larger context is loaded, that load serves all its requests", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = fixture.acquire("a");
  fixture.loads[0]?.finish();
  await pending;
  const larger = fixture.acquire("a", { contextTokens: 400 });
  await crashEngine(fixture.loads[0]?.engine);
  const smaller = fixture.acquire("a");
  fixture.loads[1]?.finish();
  expect((await smaller).engine).toBe((await larger).engine);
  expect([fixture.loads.length, fixture.unloads()]).toEqual([2, ["a crashed"]]);
});

test("unloading a model also unloads the larger context beside it", async () => {
  const fixture = createFixture();
  const running = await fixture.acquire("a");
  release(await fixture.acquire("a", { contextTokens: 400 }));
  expect(fixture.running()).toBe(2);
  const unloaded = fixture.scheduler.unload("a");
  expect(await isSettled(unloaded)).toBe(false);
  release(running);
  await unloaded;
  expect([fixture.running(), fixture.scheduler.running()]).toEqual([0, []]);
});

test("a larger context is not loaded into memory that another model waits for", async () => {
  const fixture = createFixture({ memoryBudgetBytes: 6000 });
  const [one, other] = await Promise.all([fixture.acquire("a"), fixture.acquire("a")]);
  const size = { fileBytes: 5000, layers: 1, keyValueHeads: 1, headSize: 1 };
  const waiting = fixture.acquire("b", { size });
  const larger = fixture.acquire("a", { contextTokens: 400 });
  expect([fixture.loads.length, await isSettled(waiting)]).toEqual([1, false]);
  for (const lease of [one, other]) release(lease);
  release(await waiting);
  expect((await larger).contextTokens).toBe(400);
  expect(fixture.loads.map(({ plan }) => plan.modelPath)).toEqual(["a.gguf", "b.gguf", "a.gguf"]);
});

test("one load serves the largest context in the queue", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const busy = fixture.acquire("a");
  const pending = [
    fixture.acquire("a", { contextTokens: 300 }),
    fixture.acquire("a", { contextTokens: 900 }),
  ];
  fixture.loads[0]?.finish();
  release(await busy);
  await expect.poll(() => fixture.loads.length).toBe(2);
  fixture.loads[1]?.finish();
  const leases = await Promise.all(pending);
  expect(leases.map(({ contextTokens }) => contextTokens)).toEqual([900, 900]);
});

test("a keep-alive override survives a reload with a larger context", async () => {
  const fixture = createFixture();
  release(await fixture.acquire("a", { keepAlive: "forever" }));
  release(await fixture.acquire("a", { contextTokens: 400 }));
  expect(fixture.scheduler.running()).toMatchObject([{ contextTokens: 400, expiresAt: "never" }]);
});

test("a context that can never fit is rejected at once, and the loaded model keeps serving smaller ones", async () => {
  const fixture = createFixture({ memoryBudgetBytes: 2000 });
  const running = await fixture.acquire("a");
  const failure = { kind: "insufficient-memory", neededBytes: 1000 + 4 * 500 };
  await expect(fixture.acquire("a", { contextTokens: 500 })).rejects.toMatchObject({ failure });
  expect((await fixture.acquire("a", { contextTokens: 90 })).engine).toBe(running.engine);
});

test("if even the default context does not fit, only requests that set a smaller one are served", async () => {
  const fixture = createFixture({ memoryBudgetBytes: 1300 });
  const rejected = { failure: { kind: "insufficient-memory" } };
  await expect(fixture.acquire("a")).rejects.toMatchObject(rejected);
  const smaller = await fixture.acquire("a", { contextTokens: 50 });
  expect(smaller.contextTokens).toBe(50);
  release(smaller);
  // What another client set changes nothing.
  await expect(fixture.acquire("a")).rejects.toMatchObject(rejected);
});

test("after a crash, a queued request whose context no longer fits is rejected for lack of memory", async () => {
  const fixture = createFixture({ memoryBudgetBytes: 1300 });
  await fixture.acquire("a", { contextTokens: 50 });
  const tooLarge = fixture.acquire("a");
  const fitting = fixture.acquire("a", { contextTokens: 60 });
  await crashEngine(fixture.loads[0]?.engine);
  await expect(tooLarge).rejects.toMatchObject({
    failure: { kind: "insufficient-memory", neededBytes: 1400 },
  });
  expect((await fitting).contextTokens).toBe(60);
});
