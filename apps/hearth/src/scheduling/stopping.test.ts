import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { giveBack, isSettled, setStage, settle } from "./test/fixture.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("unloading an idle model frees it at once, and only it", async () => {
  const stage = setStage();
  for (const key of ["a", "b"]) giveBack(await stage.lend(key));
  await stage.scheduler.unload("a");
  expect(stage.scheduler.running().map(({ key }) => key)).toEqual(["b"]);
  expect(stage.unloads()).toEqual(["a asked"]);
});

test("unloading takes a model away for all its purposes", async () => {
  const stage = setStage();
  for (const purpose of ["generate", "embed"] as const) giveBack(await stage.lend("a", { purpose }));
  await stage.scheduler.unload("a");
  expect(stage.running()).toBe(0);
});

test("unloading a model that is not there is no failure", async () => {
  await expect(setStage().scheduler.unload("a")).resolves.toBeUndefined();
});

test("unloading a model in use lets its leases finish, and who comes later gets another load", async () => {
  const stage = setStage();
  const running = await stage.lend("a");
  const unloading = stage.scheduler.unload("a");
  const later = stage.lend("a");
  expect(await isSettled(unloading)).toBe(false);
  expect(await isSettled(later)).toBe(false);
  giveBack(running);
  await unloading;
  expect((await later).engine).toBe(stage.loads[1]?.engine);
});

test("who waited before the unload is served before it", async () => {
  const stage = setStage({ sequences: 1 }, { isHeld: true });
  const lending = [stage.lend("a"), stage.lend("a")];
  const unloading = stage.scheduler.unload("a");
  stage.loads[0]?.finish();
  for (const lease of lending) giveBack(await lease);
  await unloading;
  expect(stage.loads).toHaveLength(1);
});

test("unloading by force turns the waiting away and cuts the running off when the grace is over", async () => {
  const stage = setStage({ sequences: 1 });
  const running = await stage.lend("a");
  const waiting = stage.lend("a");
  const unloading = stage.scheduler.unload("a", { graceSeconds: 5 });
  await expect(waiting).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
  await vi.advanceTimersByTimeAsync(4999);
  expect(stage.running()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await unloading;
  expect(stage.running()).toBe(0);
  giveBack(running);
  expect(stage.scheduler.queueLengths()).toEqual([]);
});

test("unloading by force calls a load off", async () => {
  const stage = setStage({}, { isHeld: true });
  const lending = stage.lend("a");
  const unloading = stage.scheduler.unload("a", { graceSeconds: 5 });
  await expect(lending).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
  await unloading;
  expect(stage.loads[0]?.signal.aborted).toBe(true);
});

test("a closing scheduler refuses new lends and those who wait, and lets the running ones finish", async () => {
  const stage = setStage({ sequences: 1 });
  const running = await stage.lend("a");
  giveBack(await stage.lend("b", { keepAlive: "forever" }));
  const waiting = stage.lend("a");
  const closing = stage.scheduler.close(30);
  const failure = { kind: "server-stopping" };
  await expect(waiting).rejects.toMatchObject({ failure });
  await expect(stage.lend("a")).rejects.toMatchObject({ failure });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(stage.running()).toBe(1);
  giveBack(running);
  await closing;
  expect(stage.running()).toBe(0);
  expect(stage.unloads()).toEqual(["b stopping", "a stopping"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("when the grace is over, the engines go with their leases", async () => {
  const stage = setStage();
  await stage.lend("a");
  const closing = stage.scheduler.close(30);
  await vi.advanceTimersByTimeAsync(30_000);
  await closing;
  expect(stage.running()).toBe(0);
});

test("closing a second time without grace ends it now", async () => {
  const stage = setStage();
  await stage.lend("a");
  const closing = stage.scheduler.close(30);
  void stage.scheduler.close(0);
  await vi.advanceTimersByTimeAsync(0);
  await closing;
  expect(stage.running()).toBe(0);
});

test("closing calls loads off, and an engine that comes all the same is unloaded", async () => {
  const stage = setStage({}, { isHeld: true });
  const lending = stage.lend("a");
  stage.loads[0]?.finish();
  const closing = stage.scheduler.close(30);
  await expect(lending).rejects.toMatchObject({ failure: { kind: "server-stopping" } });
  await closing;
  await settle();
  expect([stage.loads[0]?.engine !== undefined, stage.running()]).toEqual([true, 0]);
});
