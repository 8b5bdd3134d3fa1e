import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFixture, isSettled, release, settle } from "./test/fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("an idle model is unloaded at once, and no other", async () => {
  const fixture = createFixture();
  for (const key of ["a", "b"]) release(await fixture.acquire(key));
  await fixture.scheduler.unload("a");
  expect(fixture.scheduler.running().map(({ key }) => key)).toEqual(["b"]);
  expect(fixture.unloads()).toEqual(["a requested"]);
});

test("unloading applies to all purposes of a model", async () => {
  const fixture = createFixture();
  for (const purpose of ["generate", "embed"] as const) release(await fixture.acquire("a", { purpose }));
  await fixture.scheduler.unload("a");
  expect(fixture.running()).toBe(0);
});

test("unloading a model that is not loaded succeeds", async () => {
  await expect(createFixture().scheduler.unload("a")).resolves.toBeUndefined();
});

test("unloading a model in use waits for its leases, and later requests get another load", async () => {
  const fixture = createFixture();
  const running = await fixture.acquire("a");
  const unloading = fixture.scheduler.unload("a");
  const later = fixture.acquire("a");
  expect(await isSettled(unloading)).toBe(false);
  expect(await isSettled(later)).toBe(false);
  release(running);
  await unloading;
  expect((await later).engine).toBe(fixture.loads[1]?.engine);
});

test("requests queued before the unload are served first", async () => {
  const fixture = createFixture({ sequences: 1 }, { isHeld: true });
  const pending = [fixture.acquire("a"), fixture.acquire("a")];
  const unloading = fixture.scheduler.unload("a");
  fixture.loads[0]?.finish();
  for (const lease of pending) release(await lease);
  await unloading;
  expect(fixture.loads).toHaveLength(1);
});

test("a forced unload rejects queued requests and stops running ones after the grace period", async () => {
  const fixture = createFixture({ sequences: 1 });
  const running = await fixture.acquire("a");
  const waiting = fixture.acquire("a");
  const unloading = fixture.scheduler.unload("a", { graceSeconds: 5 });
  await expect(waiting).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
  await vi.advanceTimersByTimeAsync(4999);
  expect(fixture.running()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await unloading;
  expect(fixture.running()).toBe(0);
  release(running);
  expect(fixture.scheduler.queueLengths()).toEqual([]);
});

test("a forced unload cancels a load", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = fixture.acquire("a");
  const unloading = fixture.scheduler.unload("a", { graceSeconds: 5 });
  await expect(pending).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
  await unloading;
  expect(fixture.loads[0]?.signal.aborted).toBe(true);
});

test("a closing scheduler rejects new and queued requests and lets running ones finish", async () => {
  const fixture = createFixture({ sequences: 1 });
  const running = await fixture.acquire("a");
  release(await fixture.acquire("b", { keepAlive: "forever" }));
  const waiting = fixture.acquire("a");
  const closing = fixture.scheduler.close(30);
  const failure = { kind: "server-stopping" };
  await expect(waiting).rejects.toMatchObject({ failure });
  await expect(fixture.acquire("a")).rejects.toMatchObject({ failure });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(fixture.running()).toBe(1);
  release(running);
  await closing;
  expect(fixture.running()).toBe(0);
  expect(fixture.unloads()).toEqual(["b stopping", "a stopping"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("after the grace period, engines are unloaded despite active leases", async () => {
  const fixture = createFixture();
  await fixture.acquire("a");
  const closing = fixture.scheduler.close(30);
  await vi.advanceTimersByTimeAsync(30_000);
  await closing;
  expect(fixture.running()).toBe(0);
});

test("closing a second time without a grace period stops at once", async () => {
  const fixture = createFixture();
  await fixture.acquire("a");
  const closing = fixture.scheduler.close(30);
  void fixture.scheduler.close(0);
  await vi.advanceTimersByTimeAsync(0);
  await closing;
  expect(fixture.running()).toBe(0);
});

test("closing cancels loads, and an engine that finishes loading anyway is unloaded", async () => {
  const fixture = createFixture({}, { isHeld: true });
  const pending = fixture.acquire("a");
  fixture.loads[0]?.finish();
  const closing = fixture.scheduler.close(30);
  await expect(pending).rejects.toMatchObject({ failure: { kind: "server-stopping" } });
  await closing;
  await settle();
  expect([fixture.loads[0]?.engine !== undefined, fixture.running()]).toEqual([true, 0]);
});
