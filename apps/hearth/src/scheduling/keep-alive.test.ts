import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KeepAlive } from "./keep-alive.ts";
import { giveBack, type Stage, setStage } from "./test/fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`Cannot end the test: it left ${timers} timers`);
});

async function use(stage: Stage, keepAlive?: KeepAlive): Promise<void> {
  giveBack(await stage.lend("a", keepAlive === undefined ? {} : { keepAlive }));
}

async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

test("a model stays for five minutes after its last use, and no longer", async () => {
  const stage = setStage();
  await use(stage);
  await pass(299);
  expect(stage.running()).toBe(1);
  await pass(1);
  expect(stage.running()).toBe(0);
  expect(stage.unloads()).toEqual(["a expired"]);
});

test("each use starts the time again", async () => {
  const stage = setStage();
  await use(stage);
  await pass(200);
  await use(stage);
  await pass(299);
  expect(stage.running()).toBe(1);
  await pass(1);
  expect(stage.running()).toBe(0);
});

test("the time starts when the last lease ends, not the first", async () => {
  const stage = setStage({ keepAlive: 5 });
  const leases = [await stage.lend("a"), await stage.lend("a")];
  await pass(60);
  leases.slice(0, 1).forEach(giveBack);
  await pass(60);
  expect(stage.running()).toBe(1);
  leases.slice(1).forEach(giveBack);
  await pass(4);
  expect(stage.running()).toBe(1);
  await pass(1);
  expect(stage.running()).toBe(0);
});

test("a request's value overrides the default and holds for later requests until another override", async () => {
  const stage = setStage();
  await use(stage, 5);
  await use(stage);
  await pass(5);
  expect(stage.running()).toBe(0);
  await use(stage, 5);
  await use(stage, 60);
  await pass(59);
  expect(stage.running()).toBe(1);
  await pass(1);
  expect(stage.running()).toBe(0);
});

test("an override ends with its load: loaded anew, the model has the default again", async () => {
  const stage = setStage();
  await use(stage, 0);
  await pass(0);
  await use(stage);
  await pass(299);
  expect(stage.running()).toBe(1);
  await pass(1);
});

test("zero unloads when idle: after its own lease, but not under another's", async () => {
  const stage = setStage();
  const other = await stage.lend("a");
  await use(stage, 0);
  await pass(60);
  expect(stage.running()).toBe(1);
  giveBack(other);
  await pass(0);
  expect(stage.running()).toBe(0);
});

test.each([-1, -0.5, "forever"] as const)(
  "keep-alive %s never unloads, until an override ends it",
  async (keepAlive) => {
    const stage = setStage();
    await use(stage, keepAlive);
    expect(stage.scheduler.running()[0]?.expiresAt).toBe("never");
    await pass(100 * 24 * 3600);
    expect(stage.running()).toBe(1);
    await use(stage, 0);
    await pass(0);
    expect(stage.running()).toBe(0);
  },
);

test("a keep-alive longer than a timer can wait does not unload at once", async () => {
  const stage = setStage();
  await use(stage, 60 * 24 * 3600);
  await pass(59 * 24 * 3600);
  expect(stage.running()).toBe(1);
  await pass(24 * 3600);
  expect(stage.running()).toBe(0);
});

test("the list of running models tells when each will leave, as if a lease in use ended now", async () => {
  const stage = setStage({ keepAlive: 5 });
  const lease = await stage.lend("a");
  await pass(60);
  expect(stage.scheduler.running()[0]?.expiresAt).toEqual(new Date(Date.now() + 5000));
  giveBack(lease);
  await pass(2);
  expect(stage.scheduler.running()[0]?.expiresAt).toEqual(new Date(Date.now() + 3000));
  await pass(3);
  expect(stage.scheduler.running()).toEqual([]);
});
