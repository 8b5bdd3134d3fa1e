import { getEventListeners } from "node:events";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { death, kill } from "./test/fake-driver.ts";
import { giveBack, isSettled, setStage, settle, wishFor } from "./test/fixture.ts";

test("a model is loaded once and lent again without loading", async () => {
  const stage = setStage();
  const first = await stage.lend("a");
  const second = await stage.lend("a");
  expect(stage.loads).toHaveLength(1);
  expect(second.engine).toBe(first.engine);
  expect([second.loadMilliseconds, second.position]).toEqual([0, 0]);
  expect(stage.scheduler.running()).toMatchObject([
    { key: "a", contextTokens: 100, sequences: 2, memoryBytes: 1800, gpuBytes: 0, leases: 2, waiting: 0 },
  ]);
});

test("the same model is loaded apart for embedding and for ranking, with one sequence each", async () => {
  const stage = setStage();
  await Promise.all((["generate", "embed", "rank"] as const).map((purpose) => stage.lend("a", { purpose })));
  expect(stage.loads.map(({ plan }) => [plan.purpose, plan.sequences])).toEqual([
    ["generate", 2],
    ["embed", 1],
    ["rank", 1],
  ]);
});

test("the load plan carries the files of the wish", async () => {
  const stage = setStage();
  await stage.lend("a", { adapters: [{ path: "tone.gguf", scale: 0.5 }], projectorPath: "eyes.gguf" });
  expect(stage.loads[0]?.plan).toMatchObject({
    modelPath: "a.gguf",
    adapters: [{ path: "tone.gguf", scale: 0.5 }],
    projectorPath: "eyes.gguf",
  });
});

test("those who come while a model loads share the one load, and its time is told apart from the queue's", async () => {
  const stage = setStage({}, { isHeld: true });
  const lending = [stage.lend("a"), stage.lend("a"), stage.lend("a")];
  await new Promise((resolve) => setTimeout(resolve, 30));
  stage.loads[0]?.finish();
  const [first] = await Promise.all(lending.slice(0, 2));
  await new Promise((resolve) => setTimeout(resolve, 30));
  if (first !== undefined) giveBack(first);
  const third = await lending[2];
  expect(stage.loads).toHaveLength(1);
  expect(first?.loadMilliseconds).toBeGreaterThan(25);
  expect(first?.queueMilliseconds).toBeLessThan(first?.loadMilliseconds ?? 0);
  expect(third?.loadMilliseconds).toBeGreaterThan(25);
  expect(third?.queueMilliseconds).toBeGreaterThan(25);
  expect(third?.position).toBe(2);
});

test("a load goes on while anybody waits for it, and is called off when the last one has left", async () => {
  const stage = setStage({}, { isHeld: true });
  const callers = [new AbortController(), new AbortController()];
  const lending = callers.map(({ signal }) => stage.lend("a", {}, signal));
  callers[0]?.abort(new Error("first gone"));
  await expect(lending[0]).rejects.toThrow("first gone");
  expect(stage.loads[0]?.signal.aborted).toBe(false);
  callers[1]?.abort(new Error("second gone"));
  await expect(lending[1]).rejects.toThrow("second gone");
  expect(stage.loads[0]?.signal.aborted).toBe(true);
  await settle();
  expect(stage.events.map(({ type }) => type)).toEqual(["load-called-off"]);
  expect(stage.scheduler.queueLengths()).toEqual([]);
});

test("who comes while a load is being called off gets a load of its own", async () => {
  const stage = setStage({}, { isHeld: true });
  const caller = new AbortController();
  const left = stage.lend("a", {}, caller.signal);
  caller.abort(new Error("gone"));
  const next = stage.lend("a");
  await expect(left).rejects.toThrow("gone");
  await settle();
  expect(stage.loads).toHaveLength(2);
  stage.loads[1]?.finish();
  expect((await next).engine).toBe(stage.loads[1]?.engine);
});

test("a failed load fails all its waiters with the one reason; the next lend tries again", async () => {
  const stage = setStage({}, { isHeld: true });
  const lending = [stage.lend("a"), stage.lend("a"), stage.lend("a")];
  const failure = { kind: "model-invalid", reason: "no tensors" } as const;
  stage.loads[0]?.fail(failure);
  const outcomes = await Promise.allSettled(lending);
  expect(outcomes).toMatchObject(lending.map(() => ({ status: "rejected", reason: { failure } })));
  const again = stage.lend("a");
  stage.loads[1]?.finish();
  expect((await again).engine).toBe(stage.loads[1]?.engine);
});

test("a model whose engine died is forgotten, and the next lend loads it again", async () => {
  const stage = setStage();
  const lease = await stage.lend("a");
  await kill(stage.loads[0]?.engine);
  await settle();
  expect(stage.scheduler.running()).toEqual([]);
  expect(stage.events.at(-1)).toMatchObject({ type: "model-unloaded", reason: "died", failure: death });
  const next = await stage.lend("a");
  giveBack(lease);
  expect(next.engine).toBe(stage.loads[1]?.engine);
  expect(stage.scheduler.running()).toMatchObject([{ leases: 1 }]);
});

test("those who wait in line when the engine dies are served by the next load", async () => {
  const stage = setStage({ sequences: 1 });
  await stage.lend("a");
  const waiting = stage.lend("a");
  await kill(stage.loads[0]?.engine);
  expect((await waiting).engine).toBe(stage.loads[1]?.engine);
});

test("a model has as many leases at once as sequences; the rest wait their turn in order", async () => {
  const stage = setStage();
  const running = [await stage.lend("a"), await stage.lend("a")];
  const waiting = [stage.lend("a"), stage.lend("a")] as const;
  expect(await isSettled(waiting[0])).toBe(false);
  running.slice(0, 1).forEach(giveBack);
  running.slice(0, 1).forEach(giveBack);
  expect(await isSettled(waiting[0])).toBe(true);
  expect(await isSettled(waiting[1])).toBe(false);
  expect(stage.scheduler.queueLengths()).toEqual([{ key: "a", purpose: "generate", leases: 2, waiting: 1 }]);
});

test("a caller that hangs up frees its place in the line for another", async () => {
  const stage = setStage({ sequences: 1, waitingLine: 1 });
  const lease = await stage.lend("a");
  const caller = new AbortController();
  const left = stage.lend("a", {}, caller.signal);
  await expect(stage.lend("a")).rejects.toMatchObject({ failure: { kind: "queue-full", waiting: 1 } });
  caller.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  const next = stage.lend("a");
  giveBack(lease);
  expect((await next).engine).toBe(lease.engine);
});

test("a caller that has already hung up never enters", async () => {
  const stage = setStage();
  await expect(stage.lend("a", {}, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  expect(stage.loads).toHaveLength(0);
});

test("no line at all still lets in as many as there are sequences", async () => {
  const stage = setStage({ waitingLine: 0 });
  const outcomes = await Promise.allSettled([stage.lend("a"), stage.lend("a"), stage.lend("a")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
});

test("the bound on all lines together refuses although each line has places", async () => {
  const stage = setStage({ sequences: 1, waitingLine: 2, waitingInAll: 3 });
  const asked = ["a", "a", "a", "b", "b", "b"];
  const lending = asked.map((key) => stage.lend(key));
  await expect(lending[5]).rejects.toMatchObject({ failure: { kind: "queue-full", retryAfterSeconds: 1 } });
  expect(stage.scheduler.queueLengths().map(({ waiting }) => waiting)).toEqual([2, 1]);
  expect(stage.events.filter(({ type }) => type === "queue-full")).toHaveLength(1);
  await Promise.allSettled([...lending, stage.scheduler.close(0)]);
});

test("of 1,000 lends at once with 4 sequences and a line of 64 exactly 68 are accepted, all in order", async () => {
  const stage = setStage({ sequences: 4, waitingLine: 64 });
  const served: number[] = [];
  const caller = new AbortController();
  const lending = Array.from({ length: 1000 }, async (_none, index) => {
    const lease = await stage.lend("a", {}, caller.signal);
    await settle();
    served.push(index);
    giveBack(lease);
  });
  const outcomes = await Promise.allSettled(lending);
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(served).toEqual(Array.from({ length: 68 }, (_none, index) => index));
  expect(refused).toHaveLength(932);
  for (const { failure } of refused)
    expect(failure).toMatchObject({ kind: "queue-full", retryAfterSeconds: 1 });
  expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
  recordFigure({
    claim: "families 12",
    text: `the scheduler accepts ${served.length} of 1,000 lends at once with 4 sequences and a line of 64`,
    counted: { reached: served.length, needed: 68 },
  });
});

test("preloading loads, keeps as asked, and holds no place", async () => {
  const stage = setStage();
  await stage.scheduler.preload(wishFor("a", { keepAlive: "forever" }), new AbortController().signal);
  expect(stage.scheduler.running()).toMatchObject([{ key: "a", leases: 0, expiresAt: "never" }]);
});
