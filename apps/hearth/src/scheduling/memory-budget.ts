import { totalmem } from "node:os";
import type { LoadPlan } from "@hearth-and-keep/engine";

/** The metadata of a model file that determine its memory use. */
export type ModelSize = {
  /** Including adapters and projector. */
  readonly fileBytes: number;
  readonly layers: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
};

export type LoadShape = { readonly contextTokens: number; readonly sequences: number };

export type MemoryNeed = {
  readonly size: ModelSize;
  readonly cacheType: LoadPlan["cacheType"];
  /** Acceptable context sizes, best first. */
  readonly contexts: readonly number[];
  readonly maxSequences: number;
};

export type Resident = {
  readonly memoryBytes: number;
  readonly state: "busy" | "idle" | "unloading";
  /** Its keep-alive is forever, so it is evicted last. */
  readonly isPinned: boolean;
  readonly usedAt: number;
};

export type MemoryDecision<Kind extends Resident> =
  | { readonly type: "load"; readonly shape: LoadShape; readonly memoryBytes: number }
  /** `evict` are idle and unload now; `drain` are in use and unload when their leases are released. */
  | { readonly type: "wait"; readonly evict: readonly Kind[]; readonly drain: readonly Kind[] }
  | { readonly type: "never"; readonly neededBytes: number };

/** A share of the machine's memory, or of the container's limit if there is one. */
export function defaultMemoryBudget(share = 0.8): number {
  const limit = process.constrainedMemory();
  return Math.floor(share * Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY));
}

/** Bytes per cached value; quantized ones come in blocks of 32 with a two-byte scale. */
const cacheBytesPerValue = { f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 } as const;

/** The file, and two caches (keys and values) for every layer, head and token of every sequence. */
export function estimateMemoryBytes(
  { size, cacheType = "f16" }: Pick<MemoryNeed, "size" | "cacheType">,
  { contextTokens, sequences }: LoadShape,
): number {
  const values = 2 * size.layers * size.keyValueHeads * size.headSize * contextTokens * sequences;
  return Math.ceil(size.fileBytes + values * cacheBytesPerValue[cacheType]);
}

/** The memory of the smallest possible load, if even that exceeds the budget. */
export function bytesOverBudget(need: MemoryNeed, budgetBytes: number): number | undefined {
  const min = estimateMemoryBytes(need, { contextTokens: Math.min(...need.contexts), sequences: 1 });
  return min > budgetBytes ? min : undefined;
}

/**
 * Decides how to load a model within the budget. Models in use stay, so the model gets as many sequences as fit next to
 * them. Pinned models stay too if at least one sequence fits next to them.
 */
export function planMemory<Kind extends Resident>(
  need: MemoryNeed,
  residents: readonly Kind[],
  budgetBytes: number,
): MemoryDecision<Kind> {
  const neededBytes = bytesOverBudget(need, budgetBytes);
  if (neededBytes !== undefined) return { type: "never", neededBytes };
  const busy = residents.filter(({ state }) => state === "busy");
  const pinned = residents.filter(({ state, isPinned }) => state === "idle" && isPinned);
  const shape =
    largestShape(need, budgetBytes - sumBytes([...busy, ...pinned])) ??
    largestShape(need, budgetBytes - sumBytes(busy));
  if (shape === undefined) return { type: "wait", evict: [], drain: chooseDrains(need, busy, budgetBytes) };
  const memoryBytes = estimateMemoryBytes(need, shape);
  if (sumBytes(residents) + memoryBytes <= budgetBytes) return { type: "load", shape, memoryBytes };
  return { type: "wait", evict: chooseEvictions(memoryBytes, residents, budgetBytes), drain: [] };
}

function sumBytes(residents: readonly Resident[]): number {
  return residents.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
}

/** Prefers a sufficient context over more sequences, because a smaller context rejects prompts. */
function largestShape(need: MemoryNeed, bytes: number): LoadShape | undefined {
  for (const contextTokens of need.contexts) {
    for (let sequences = need.maxSequences; sequences >= 1; sequences -= 1) {
      const shape = { contextTokens, sequences };
      if (estimateMemoryBytes(need, shape) <= bytes) return shape;
    }
  }
  return undefined;
}

function chooseEvictions<Kind extends Resident>(
  memoryBytes: number,
  residents: readonly Kind[],
  budgetBytes: number,
): readonly Kind[] {
  let remaining = sumBytes(residents.filter(({ state }) => state !== "unloading"));
  return leastRecentlyUsedFirst(residents.filter(({ state }) => state === "idle")).filter((resident) => {
    if (remaining + memoryBytes <= budgetBytes) return false;
    remaining -= resident.memoryBytes;
    return true;
  });
}

/** The fewest models that free enough memory for one sequence. */
function chooseDrains<Kind extends Resident>(
  need: MemoryNeed,
  busy: readonly Kind[],
  budgetBytes: number,
): readonly Kind[] {
  let remaining = sumBytes(busy);
  return leastRecentlyUsedFirst(busy).filter((resident) => {
    if (largestShape({ ...need, maxSequences: 1 }, budgetBytes - remaining) !== undefined) return false;
    remaining -= resident.memoryBytes;
    return true;
  });
}

function leastRecentlyUsedFirst<Kind extends Resident>(residents: readonly Kind[]): readonly Kind[] {
  return residents.toSorted((a, b) => Number(a.isPinned) - Number(b.isPinned) || a.usedAt - b.usedAt);
}
