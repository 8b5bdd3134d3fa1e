import { totalmem } from "node:os";
import type { LoadPlan } from "@hearth-and-keep/engine";

/** The metadata of a model file that determine its memory use. */
export type ModelSize = {
  /** Including adapters and projector. */
  readonly fileBytes: number;
  readonly layers: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  /** Undefined for a model that another machine runs. */
  readonly process?: ProcessSize;
};

/** What determines the memory of an engine process beside its model and its context. */
type ProcessSize = {
  readonly vocabularySize: number;
  /** How often it keeps the scores of all tokens of a batch: a generative model that embeds has three copies. */
  readonly scoreBuffers: 0 | 1 | 3;
};

/** What the memory of a loaded model is used for. */
export type MemoryBreakdown = {
  readonly weightBytes: number;
  readonly cacheBytes: number;
  /** Everything else of the engine's process. */
  readonly processBytes: number;
};

export type LoadShape = { readonly contextTokens: number; readonly sequences: number };

export type MemoryNeed = {
  readonly size: ModelSize;
  readonly cacheType: LoadPlan["cacheType"];
  /** Acceptable context sizes, best first. */
  readonly contexts: readonly number[];
  readonly maxSequences: number;
  /** What all sequences may have together, beyond the two that every model gets if memory allows. */
  readonly maxTotalTokens?: number;
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

/** Node.js, the libraries and a model without vocabulary. All of these were measured; a test compares them to real processes. */
const processBytes = 131_000_000;
/** The tokens as llama.cpp and its binding keep them. */
const bytesPerVocabularyEntry = 1050;
const batchTokens = 512;
const bytesPerScore = 4;
/** What a sampler keeps for its candidates, and everything else of one generation. */
const samplerBytesPerVocabularyEntry = 110;
const sequenceBytes = 1_000_000;

export function estimateMemoryBytes(need: CacheNeed, shape: LoadShape): number {
  const { weightBytes, cacheBytes, processBytes: otherBytes } = estimateMemory(need, shape);
  return Math.ceil(weightBytes + cacheBytes + otherBytes);
}

type CacheNeed = Pick<MemoryNeed, "size" | "cacheType">;

/**
 * The file, two caches (keys and values) for every layer, head and token of every sequence, and the engine process
 * with the buffers of one batch.
 */
export function estimateMemory(
  { size, cacheType = "f16" }: CacheNeed,
  { contextTokens, sequences }: LoadShape,
): MemoryBreakdown {
  const values = 2 * size.layers * size.keyValueHeads * size.headSize * contextTokens * sequences;
  return {
    weightBytes: size.fileBytes,
    cacheBytes: Math.ceil(values * cacheBytesPerValue[cacheType]),
    processBytes: estimateProcessBytes(size.process, sequences),
  };
}

/** What a second context takes up, in a process that has the weights already. */
export function estimateContextBytes(need: CacheNeed, shape: LoadShape): number {
  return estimateMemory(need, shape).cacheBytes + estimateScoreBytes(need.size.process);
}

function estimateProcessBytes(size: ProcessSize | undefined, sequences: number): number {
  if (size === undefined) return 0;
  const { vocabularySize } = size;
  const perSequence = sequenceBytes + vocabularySize * samplerBytesPerVocabularyEntry;
  const vocabularyBytes = vocabularySize * bytesPerVocabularyEntry;
  return processBytes + vocabularyBytes + estimateScoreBytes(size) + sequences * perSequence;
}

function estimateScoreBytes(size: ProcessSize | undefined): number {
  return size === undefined ? 0 : size.scoreBuffers * batchTokens * size.vocabularySize * bytesPerScore;
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
    for (let sequences = maxSequencesFor(need, contextTokens); sequences >= 1; sequences -= 1) {
      const shape = { contextTokens, sequences };
      if (estimateMemoryBytes(need, shape) <= bytes) return shape;
    }
  }
  return undefined;
}

/** Each sequence has the whole context, so a few large ones would take all memory. */
function maxSequencesFor(
  { maxSequences, maxTotalTokens = Number.POSITIVE_INFINITY }: MemoryNeed,
  contextTokens: number,
): number {
  return Math.min(maxSequences, Math.max(2, Math.floor(maxTotalTokens / contextTokens)));
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
