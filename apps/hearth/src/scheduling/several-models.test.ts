import { getEventListeners } from "node:events";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { giveBack, isSettled, setStage, settle } from "./test/fixture.ts";

/** Each model takes 1,800 bytes with two sequences, 1,400 with one. */
const roomForOne = { memoryBudgetBytes: 1800 };
const roomForTwo = { memoryBudgetBytes: 3600 };

test("several models are loaded at once as long as the budget holds them", async () => {
  const stage = setStage(roomForTwo);
  for (const key of ["a", "b", "a", "b"]) giveBack(await stage.lend(key));
  expect(stage.loads).toHaveLength(2);
  expect(stage.running()).toBe(2);
});

test("the least recently used idle model leaves when another needs its memory", async () => {
  const stage = setStage(roomForTwo);
  for (const key of ["a", "b", "a", "c"]) giveBack(await stage.lend(key));
  expect(stage.unloads()).toEqual(["b evicted"]);
  expect(stage.scheduler.running().map(({ key }) => key)).toEqual(["a", "c"]);
});

test("a model kept forever leaves last, but it does leave when nothing else can", async () => {
  const stage = setStage(roomForTwo);
  giveBack(await stage.lend("a", { keepAlive: "forever" }));
  for (const key of ["b", "c"]) giveBack(await stage.lend(key));
  expect(stage.unloads()).toEqual(["b evicted"]);
  const running = await stage.lend("c");
  giveBack(await stage.lend("d", { size: { fileBytes: 1700, layers: 0, keyValueHeads: 0, headSize: 0 } }));
  expect(stage.unloads()).toEqual(["b evicted", "a evicted"]);
  giveBack(running);
});

test("when nothing idle can leave, the newcomer waits until something is idle", async () => {
  const stage = setStage(roomForOne);
  const running = await stage.lend("a");
  const newcomer = stage.lend("b");
  expect(await isSettled(newcomer)).toBe(false);
  expect(stage.loads).toHaveLength(1);
  giveBack(running);
  giveBack(await newcomer);
  expect(stage.unloads()).toEqual(["a evicted"]);
});

test("a newcomer starts only after the memory it needs was given back", async () => {
  const stage = setStage(roomForOne);
  giveBack(await stage.lend("a"));
  const engine = stage.loads[0]?.engine;
  const unloading = Promise.withResolvers<void>();
  if (engine !== undefined) engine.unload = () => unloading.promise;
  const newcomer = stage.lend("b");
  await settle();
  expect(stage.loads).toHaveLength(1);
  unloading.resolve();
  await newcomer;
  expect(stage.loads).toHaveLength(2);
});

test("beside a model in use a newcomer is content with fewer sequences", async () => {
  const stage = setStage({ memoryBudgetBytes: 3300 });
  await stage.lend("a");
  await stage.lend("b");
  expect(stage.scheduler.running().map(({ sequences }) => sequences)).toEqual([2, 1]);
});

test("a model that can never fit is refused with what it needs, and nobody has to leave for it", async () => {
  const stage = setStage(roomForOne);
  giveBack(await stage.lend("a"));
  const size = { fileBytes: 5000, layers: 1, keyValueHeads: 1, headSize: 1 };
  const failure = { kind: "memory-lacking", neededBytes: 5400 };
  await expect(stage.lend("b", { size })).rejects.toMatchObject({ failure });
  expect(stage.running()).toBe(1);
  expect(stage.scheduler.queueLengths()).toHaveLength(1);
});

test("a busy model cannot starve another: who comes after the newcomer waits behind it", async () => {
  const stage = setStage(roomForOne);
  const running = await stage.lend("a");
  const newcomer = stage.lend("b");
  const later = stage.lend("a");
  expect(await isSettled(later)).toBe(false);
  giveBack(running);
  giveBack(await newcomer);
  giveBack(await later);
  expect(stage.loads.map(({ plan }) => plan.modelPath)).toEqual(["a.gguf", "b.gguf", "a.gguf"]);
});

test("when the newcomer gives up, the busy model serves on as if nothing had been", async () => {
  const stage = setStage(roomForOne);
  const running = await stage.lend("a");
  const caller = new AbortController();
  const newcomer = stage.lend("b", {}, caller.signal);
  const later = stage.lend("a");
  caller.abort(new Error("gone"));
  await expect(newcomer).rejects.toThrow("gone");
  expect((await later).engine).toBe(running.engine);
  expect(stage.loads).toHaveLength(1);
});

test("a small model does not overtake a large one that waits for memory", async () => {
  const stage = setStage(roomForTwo);
  const running = await stage.lend("a");
  const large = stage.lend("b", { size: { fileBytes: 3000, layers: 1, keyValueHeads: 1, headSize: 1 } });
  const small = stage.lend("c");
  expect(await isSettled(small)).toBe(false);
  giveBack(running);
  giveBack(await large);
  giveBack(await small);
  expect(stage.loads.map(({ plan }) => plan.modelPath)).toEqual(["a.gguf", "b.gguf", "c.gguf"]);
});

test("two models alternating for 200 rounds under a budget that holds one leak nothing", async () => {
  const stage = setStage(roomForOne);
  const caller = new AbortController();
  let rounds = 0;
  for (; rounds < 200; rounds += 1) {
    const together = ["a", "b"].map((key) => stage.lend(key, {}, caller.signal));
    for (const lending of together) {
      const lease = await lending;
      expect(stage.running()).toBe(1);
      giveBack(lease);
    }
  }
  await settle();
  const { loads } = stage;
  expect(loads.length - loads.filter(({ isUnloaded }) => isUnloaded).length).toBe(1);
  expect(stage.scheduler.running()).toHaveLength(1);
  expect(stage.scheduler.queueLengths()).toMatchObject([{ leases: 0, waiting: 0 }]);
  expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
  expect(loads.flatMap(({ signal }) => getEventListeners(signal, "abort"))).toEqual([]);
  recordFigure({
    claim: "families 13",
    text: `${rounds} rounds of two models under a budget that holds one: ${loads.length} loads, one left running, no listener left`,
    counted: { reached: rounds, needed: 200 },
  });
});
