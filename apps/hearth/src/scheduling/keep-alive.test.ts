import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KeepAlive } from "./keep-alive.ts";
import { createFixture, release, type SchedulerFixture } from "./test/fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`The test left ${timers} timers running`);
});

async function use(fixture: SchedulerFixture, keepAlive?: KeepAlive): Promise<void> {
  release(await fixture.acquire("a", keepAlive === undefined ? {} : { keepAlive }));
}

async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

test("a model is unloaded five minutes after its last use", async () => {
  const fixture = createFixture();
  await use(fixture);
  await pass(299);
  expect(fixture.running()).toBe(1);
  await pass(1);
  expect(fixture.running()).toBe(0);
  expect(fixture.unloads()).toEqual(["a expired"]);
});

test("each use restarts the keep-alive", async () => {
  const fixture = createFixture();
  await use(fixture);
  await pass(200);
  await use(fixture);
  await pass(299);
  expect(fixture.running()).toBe(1);
  await pass(1);
  expect(fixture.running()).toBe(0);
});

test("the keep-alive starts when the last lease is released", async () => {
  const fixture = createFixture({ keepAlive: 5 });
  const leases = [await fixture.acquire("a"), await fixture.acquire("a")];
  await pass(60);
  leases.slice(0, 1).forEach(release);
  await pass(60);
  expect(fixture.running()).toBe(1);
  leases.slice(1).forEach(release);
  await pass(4);
  expect(fixture.running()).toBe(1);
  await pass(1);
  expect(fixture.running()).toBe(0);
});

test("a request's keep-alive applies to later requests until another override", async () => {
  const fixture = createFixture();
  await use(fixture, 5);
  await use(fixture);
  await pass(5);
  expect(fixture.running()).toBe(0);
  await use(fixture, 5);
  await use(fixture, 60);
  await pass(59);
  expect(fixture.running()).toBe(1);
  await pass(1);
  expect(fixture.running()).toBe(0);
});

test("an override ends when the model is unloaded", async () => {
  const fixture = createFixture();
  await use(fixture, 0);
  await pass(0);
  await use(fixture);
  await pass(299);
  expect(fixture.running()).toBe(1);
  await pass(1);
});

test("a keep-alive of zero unloads the model as soon as no lease is left", async () => {
  const fixture = createFixture();
  const other = await fixture.acquire("a");
  await use(fixture, 0);
  await pass(60);
  expect(fixture.running()).toBe(1);
  release(other);
  await pass(0);
  expect(fixture.running()).toBe(0);
});

test.each([-1, -0.5, "forever"] as const)(
  "keep-alive %s never unloads the model until overridden",
  async (keepAlive) => {
    const fixture = createFixture();
    await use(fixture, keepAlive);
    expect(fixture.scheduler.running()[0]?.expiresAt).toBe("never");
    await pass(100 * 24 * 3600);
    expect(fixture.running()).toBe(1);
    await use(fixture, 0);
    await pass(0);
    expect(fixture.running()).toBe(0);
  },
);

test("a keep-alive beyond the maximum timer delay does not unload at once", async () => {
  const fixture = createFixture();
  await use(fixture, 60 * 24 * 3600);
  await pass(59 * 24 * 3600);
  expect(fixture.running()).toBe(1);
  await pass(24 * 3600);
  expect(fixture.running()).toBe(0);
});

test("running models are listed with their expiry, as if active leases were released now", async () => {
  const fixture = createFixture({ keepAlive: 5 });
  const lease = await fixture.acquire("a");
  await pass(60);
  expect(fixture.scheduler.running()[0]?.expiresAt).toEqual(new Date(Date.now() + 5000));
  release(lease);
  await pass(2);
  expect(fixture.scheduler.running()[0]?.expiresAt).toEqual(new Date(Date.now() + 3000));
  await pass(3);
  expect(fixture.scheduler.running()).toEqual([]);
});
