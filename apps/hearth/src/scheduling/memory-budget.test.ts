import { expect, test } from "vitest";
import {
  countMemoryBytes,
  defaultMemoryBudget,
  makeRoom,
  type Need,
  type Resident,
} from "./memory-budget.ts";

const need: Need = {
  size: { fileBytes: 1000, layers: 1, keyValueHeads: 1, headSize: 1 },
  cacheType: undefined,
  contexts: [100],
  mostSequences: 8,
};

function resident(changes: Partial<Resident>): Resident {
  return { memoryBytes: 1000, standing: "idle", isPinned: false, usedAt: 0, ...changes };
}

test("memory is the file and two caches of f16 for every layer, head, token and sequence", () => {
  const size = { fileBytes: 98_362_432, layers: 30, keyValueHeads: 3, headSize: 64 };
  const shape = { contextTokens: 8192, sequences: 8 };
  const caches = 2 * 30 * 3 * 64 * 8192 * 8 * 2;
  expect(countMemoryBytes({ size, cacheType: undefined }, shape)).toBe(98_362_432 + caches);
  expect(countMemoryBytes({ size, cacheType: "q8_0" }, shape)).toBe(98_362_432 + (caches * 17) / 32);
});

test("the default budget is a share of the machine's memory", () => {
  expect(defaultMemoryBudget(0.8)).toBeGreaterThan(0);
  expect(defaultMemoryBudget(0.4)).toBeCloseTo(defaultMemoryBudget(0.8) / 2, -1);
});

test("eight sequences are planned where memory allows, fewer where it does not, at least one", () => {
  expect(makeRoom(need, [], 4200)).toEqual({
    type: "load",
    shape: { contextTokens: 100, sequences: 8 },
    memoryBytes: 4200,
  });
  expect(makeRoom(need, [], 4199)).toMatchObject({ shape: { sequences: 7 } });
  expect(makeRoom(need, [], 1400)).toMatchObject({ shape: { sequences: 1 } });
  expect(makeRoom(need, [], 1399)).toEqual({ type: "never", neededBytes: 1400 });
});

test("a smaller context that would do too is taken when the better one cannot fit", () => {
  const either = { ...need, contexts: [1000, 100] };
  expect(makeRoom(either, [], 5000)).toMatchObject({ shape: { contextTokens: 1000, sequences: 1 } });
  expect(makeRoom(either, [], 4999)).toMatchObject({ shape: { contextTokens: 100, sequences: 8 } });
});

test("the least recently used idle model leaves first, and no more than needed", () => {
  const [older, newer] = [resident({ usedAt: 1 }), resident({ usedAt: 2 })];
  expect(makeRoom(need, [newer, older], 5200)).toEqual({ type: "wait", evict: [older], drain: [] });
  expect(makeRoom(need, [newer, older], 6200)).toMatchObject({ type: "load" });
});

test("a pinned model leaves only when not even one sequence fits beside it", () => {
  const pinned = resident({ isPinned: true, usedAt: 1 });
  const other = resident({ usedAt: 2 });
  expect(makeRoom(need, [pinned, other], 2400)).toEqual({ type: "wait", evict: [other], drain: [] });
  expect(makeRoom(need, [pinned, other], 2399)).toEqual({ type: "wait", evict: [other, pinned], drain: [] });
});

test("beside a busy model fewer sequences are planned; only when none fits must it be drained", () => {
  const busy = resident({ standing: "busy" });
  expect(makeRoom(need, [busy], 2800)).toMatchObject({ type: "load", shape: { sequences: 2 } });
  expect(makeRoom(need, [busy], 2399)).toEqual({ type: "wait", evict: [], drain: [busy] });
});

test("what is leaving already counts as room to come, and nobody else is sent away for it", () => {
  const leaving = resident({ standing: "leaving" });
  const idle = resident({ usedAt: 1 });
  expect(makeRoom(need, [leaving, idle], 5200)).toEqual({ type: "wait", evict: [], drain: [] });
  expect(makeRoom(need, [idle], 5200)).toMatchObject({ type: "load", shape: { sequences: 8 } });
});
