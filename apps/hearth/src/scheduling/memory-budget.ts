import { totalmem } from "node:os";
import type { LoadPlan } from "@hearth-and-keep/engine";

/** What a model file's header says about the memory the model takes. */
export type ModelSize = {
  /** With its adapters and its projector. */
  readonly fileBytes: number;
  readonly layers: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
};

export type LoadShape = { readonly contextTokens: number; readonly sequences: number };

export type Need = {
  readonly size: ModelSize;
  readonly cacheType: LoadPlan["cacheType"];
  /** Contexts that would do, the best first. */
  readonly contexts: readonly number[];
  readonly mostSequences: number;
};

export type Resident = {
  readonly memoryBytes: number;
  readonly standing: "busy" | "idle" | "leaving";
  /** Kept forever by its user, so it leaves after all others. */
  readonly isPinned: boolean;
  readonly usedAt: number;
};

export type RoomDecision<Kind extends Resident> =
  | { readonly type: "load"; readonly shape: LoadShape; readonly memoryBytes: number }
  /** `evict` are idle and leave now; `drain` are in use and leave when their users are done. */
  | { readonly type: "wait"; readonly evict: readonly Kind[]; readonly drain: readonly Kind[] }
  | { readonly type: "never"; readonly neededBytes: number };

/** A container's limit counts where there is one; the rest of the memory is left to everything else. */
export function defaultMemoryBudget(share = 0.8): number {
  const limit = process.constrainedMemory();
  return Math.floor(share * Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY));
}

/** Bytes of one cached number; quantised ones come in blocks of 32 with a scale of two bytes. */
const cacheBytes = { f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 } as const;

/** The file, and two caches (keys and values) for every layer, head and token of every sequence. */
export function countMemoryBytes(
  { size, cacheType = "f16" }: Pick<Need, "size" | "cacheType">,
  { contextTokens, sequences }: LoadShape,
): number {
  const numbers = 2 * size.layers * size.keyValueHeads * size.headSize * contextTokens * sequences;
  return Math.ceil(size.fileBytes + numbers * cacheBytes[cacheType]);
}

/** How many bytes the least demanding way to load it takes, when even that is more than the budget. */
export function bytesBeyond(need: Need, budgetBytes: number): number | undefined {
  const least = countMemoryBytes(need, { contextTokens: Math.min(...need.contexts), sequences: 1 });
  return least > budgetBytes ? least : undefined;
}

/**
 * Finds room for a model: what stays is what is in use, so as many sequences are planned as fit beside that.
 * Pinned models stay too, as long as one sequence fits beside them.
 */
export function makeRoom<Kind extends Resident>(
  need: Need,
  residents: readonly Kind[],
  budgetBytes: number,
): RoomDecision<Kind> {
  const neededBytes = bytesBeyond(need, budgetBytes);
  if (neededBytes !== undefined) return { type: "never", neededBytes };
  const busy = residents.filter(({ standing }) => standing === "busy");
  const pinned = residents.filter(({ standing, isPinned }) => standing === "idle" && isPinned);
  const shape =
    largestShape(need, budgetBytes - sumBytes([...busy, ...pinned])) ??
    largestShape(need, budgetBytes - sumBytes(busy));
  if (shape === undefined) return { type: "wait", evict: [], drain: chooseDrained(need, busy, budgetBytes) };
  const memoryBytes = countMemoryBytes(need, shape);
  if (sumBytes(residents) + memoryBytes <= budgetBytes) return { type: "load", shape, memoryBytes };
  return { type: "wait", evict: chooseEvicted(memoryBytes, residents, budgetBytes), drain: [] };
}

function sumBytes(residents: readonly Resident[]): number {
  return residents.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
}

/** A sufficient context matters more than many sequences, because a smaller one refuses prompts. */
function largestShape(need: Need, bytes: number): LoadShape | undefined {
  for (const contextTokens of need.contexts) {
    for (let sequences = need.mostSequences; sequences >= 1; sequences -= 1) {
      const shape = { contextTokens, sequences };
      if (countMemoryBytes(need, shape) <= bytes) return shape;
    }
  }
  return undefined;
}

function chooseEvicted<Kind extends Resident>(
  memoryBytes: number,
  residents: readonly Kind[],
  budgetBytes: number,
): readonly Kind[] {
  let remaining = sumBytes(residents.filter(({ standing }) => standing !== "leaving"));
  return leastRecentlyUsedFirst(residents.filter(({ standing }) => standing === "idle")).filter(
    (resident) => {
      if (remaining + memoryBytes <= budgetBytes) return false;
      remaining -= resident.memoryBytes;
      return true;
    },
  );
}

/** As few as make room for one sequence. */
function chooseDrained<Kind extends Resident>(
  need: Need,
  busy: readonly Kind[],
  budgetBytes: number,
): readonly Kind[] {
  let remaining = sumBytes(busy);
  return leastRecentlyUsedFirst(busy).filter((resident) => {
    if (largestShape({ ...need, mostSequences: 1 }, budgetBytes - remaining) !== undefined) return false;
    remaining -= resident.memoryBytes;
    return true;
  });
}

function leastRecentlyUsedFirst<Kind extends Resident>(residents: readonly Kind[]): readonly Kind[] {
  return residents.toSorted((a, b) => Number(a.isPinned) - Number(b.isPinned) || a.usedAt - b.usedAt);
}
