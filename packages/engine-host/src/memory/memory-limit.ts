import type { LoadPlan } from "@hearth-and-keep/engine";
import type { Metadata } from "@hearth-and-keep/gguf";

export type MemoryNeeds = {
  /** All files of the model together. */
  readonly modelBytes: number;
  readonly contextBytes: number;
  /** What the machine, or the container we run in, has. */
  readonly machineBytes: number;
};

export type ContextPlan = Pick<LoadPlan, "contextTokens" | "sequences" | "cacheType">;

const mebibyte = 1024 ** 2;
/** Node itself, the buffers of one batch, templates, grammars. */
const headroomBytes = 1536 * mebibyte;
const safetyFactor = 2;
const leastReserveBytes = 512 * mebibyte;
const reserveShare = 1 / 16;
/** What a large model without shared heads takes, for files that do not tell. */
const bytesPerTokenUnknown = 2.5 * mebibyte;
/** For each number in the cache, its share of a block's scale included. */
const bytesPerNumber = { f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 } as const;

/**
 * How much memory a worker may take: twice what it should need, so that a sound model never meets the limit,
 * and never so much that the server and the rest of the machine are left without.
 */
export function memoryLimitBytes({ modelBytes, contextBytes, machineBytes }: MemoryNeeds): number {
  const wanted = safetyFactor * (modelBytes + contextBytes + headroomBytes);
  const reserve = Math.max(leastReserveBytes, machineBytes * reserveShare);
  // A machine with less than the headroom runs no model, but it can still say so from inside the worker.
  return Math.floor(Math.min(wanted, Math.max(headroomBytes, machineBytes - reserve)));
}

/** Keys and values of every layer for every token of every sequence, by what a file says of its shape. */
export function estimateContextBytes(metadata: Metadata | undefined, plan: ContextPlan): number {
  const tokens = plan.contextTokens * plan.sequences;
  const numbers = numbersPerToken(metadata);
  if (numbers === undefined) return tokens * bytesPerTokenUnknown;
  return tokens * numbers * bytesPerNumber[plan.cacheType ?? "f16"];
}

function numbersPerToken(metadata: Metadata | undefined): number | undefined {
  const architecture = metadata?.get("general.architecture")?.value;
  if (typeof architecture !== "string") return undefined;
  const read = (key: string): number | undefined => {
    const value = metadata?.get(`${architecture}.${key}`)?.value;
    return typeof value === "number" && value > 0 ? value : undefined;
  };
  const layers = read("block_count");
  const width = read("embedding_length");
  const heads = read("attention.head_count");
  if (layers === undefined || width === undefined || heads === undefined) return undefined;
  const cachedHeads = read("attention.head_count_kv") ?? heads;
  const keyWidth = read("attention.key_length") ?? width / heads;
  const valueWidth = read("attention.value_length") ?? width / heads;
  return layers * cachedHeads * (keyWidth + valueWidth);
}
