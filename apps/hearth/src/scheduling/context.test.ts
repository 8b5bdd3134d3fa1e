import { recordFigure } from "@hearth-and-keep/figures";
import { expect, onTestFinished, test, vi } from "vitest";
import { crashEngine } from "./test/fake-driver.ts";
import { createFixture, isSettled, release } from "./test/fixture.ts";

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

test("a request for more context waits until the model is idle, and smaller requests are served meanwhile", async () => {
  const fixture = createFixture();
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
  const fixture = createFixture();
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

test("if even the default context does not fit, a request can ask for a smaller one", async () => {
  const fixture = createFixture({ memoryBudgetBytes: 1300 });
  await expect(fixture.acquire("a")).rejects.toMatchObject({ failure: { kind: "insufficient-memory" } });
  const smaller = await fixture.acquire("a", { contextTokens: 50 });
  expect(smaller.contextTokens).toBe(50);
  release(smaller);
  expect((await fixture.acquire("a")).contextTokens).toBe(50);
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
