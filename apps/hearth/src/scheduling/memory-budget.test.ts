import { expect, test } from "vitest";
import {
  defaultMemoryBudget,
  estimateMemoryBytes,
  type MemoryNeed,
  planMemory,
  type Resident,
} from "./memory-budget.ts";

const need: MemoryNeed = {
  size: { fileBytes: 1000, layers: 1, keyValueHeads: 1, headSize: 1 },
  cacheType: undefined,
  contexts: [100],
  maxSequences: 8,
};

function resident(changes: Partial<Resident>): Resident {
  return { memoryBytes: 1000, state: "idle", isPinned: false, usedAt: 0, ...changes };
}

test("memory is the file plus f16 keys and values for every layer, head, token and sequence", () => {
  const size = { fileBytes: 98_362_432, layers: 30, keyValueHeads: 3, headSize: 64 };
  const shape = { contextTokens: 8192, sequences: 8 };
  const caches = 2 * 30 * 3 * 64 * 8192 * 8 * 2;
  expect(estimateMemoryBytes({ size, cacheType: undefined }, shape)).toBe(98_362_432 + caches);
  expect(estimateMemoryBytes({ size, cacheType: "q8_0" }, shape)).toBe(98_362_432 + (caches * 17) / 32);
});

test("an engine process needs memory beside its model: for itself, the vocabulary, a batch and each sequence", () => {
  const model = { fileBytes: 1000, layers: 0, keyValueHeads: 0, headSize: 0 };
  const estimate = (scoreBuffers: 0 | 1 | 3, sequences: number): number => {
    const size = { ...model, process: { vocabularySize: 50_000, scoreBuffers } };
    return estimateMemoryBytes({ size, cacheType: undefined }, { contextTokens: 512, sequences });
  };
  const [vocabulary, batch, sequence] = [50_000 * 1050, 512 * 50_000 * 4, 1_000_000 + 50_000 * 110];
  expect(estimate(1, 1)).toBe(1000 + 131_000_000 + vocabulary + batch + sequence);
  expect(estimate(1, 8)).toBe(1000 + 131_000_000 + vocabulary + batch + 8 * sequence);
  expect(estimate(3, 1)).toBe(1000 + 131_000_000 + vocabulary + 3 * batch + sequence);
  expect(estimate(0, 1)).toBe(1000 + 131_000_000 + vocabulary + sequence);
});

test("the default budget is a share of the machine's memory", () => {
  expect(defaultMemoryBudget(0.8)).toBeGreaterThan(0);
  expect(defaultMemoryBudget(0.4)).toBeCloseTo(defaultMemoryBudget(0.8) / 2, -1);
});

test("as many sequences are planned as memory allows, at least one", () => {
  expect(planMemory(need, [], 4200)).toEqual({
    type: "load",
    shape: { contextTokens: 100, sequences: 8 },
    memoryBytes: 4200,
  });
  expect(planMemory(need, [], 4199)).toMatchObject({ shape: { sequences: 7 } });
  expect(planMemory(need, [], 1400)).toMatchObject({ shape: { sequences: 1 } });
  expect(planMemory(need, [], 1399)).toEqual({ type: "never", neededBytes: 1400 });
});

test("the next acceptable context is used if the best one does not fit", () => {
  const either = { ...need, contexts: [1000, 100] };
  expect(planMemory(either, [], 5000)).toMatchObject({ shape: { contextTokens: 1000, sequences: 1 } });
  expect(planMemory(either, [], 4999)).toMatchObject({ shape: { contextTokens: 100, sequences: 8 } });
});

test("the least recently used idle models are evicted, no more than needed", () => {
  const [older, newer] = [resident({ usedAt: 1 }), resident({ usedAt: 2 })];
  expect(planMemory(need, [newer, older], 5200)).toEqual({ type: "wait", evict: [older], drain: [] });
  expect(planMemory(need, [newer, older], 6200)).toMatchObject({ type: "load" });
});

test("a pinned model is evicted only if not even one sequence fits next to it", () => {
  const pinned = resident({ isPinned: true, usedAt: 1 });
  const other = resident({ usedAt: 2 });
  expect(planMemory(need, [pinned, other], 2400)).toEqual({ type: "wait", evict: [other], drain: [] });
  expect(planMemory(need, [pinned, other], 2399)).toEqual({
    type: "wait",
    evict: [other, pinned],
    drain: [],
  });
});

test("a busy model is drained only if not even one sequence fits next to it", () => {
  const busy = resident({ state: "busy" });
  expect(planMemory(need, [busy], 2800)).toMatchObject({ type: "load", shape: { sequences: 2 } });
  expect(planMemory(need, [busy], 2399)).toEqual({ type: "wait", evict: [], drain: [busy] });
});

test("memory of models that are already unloading counts as available soon, so no other model is evicted", () => {
  const unloading = resident({ state: "unloading" });
  const idle = resident({ usedAt: 1 });
  expect(planMemory(need, [unloading, idle], 5200)).toEqual({ type: "wait", evict: [], drain: [] });
  expect(planMemory(need, [idle], 5200)).toMatchObject({ type: "load", shape: { sequences: 8 } });
});
