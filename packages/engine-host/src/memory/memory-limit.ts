import type { LoadPlan } from "@hearth-and-keep/engine";
import type { Metadata } from "@hearth-and-keep/gguf";

export type MemoryNeeds = {
  /** Total size of the model's files. */
  readonly modelBytes: number;
  readonly contextBytes: number;
  /** Memory of the machine, or of the container if that is less. */
  readonly machineBytes: number;
};

export type ContextPlan = Pick<LoadPlan, "contextTokens" | "sequences" | "cacheType">;

const mebibyte = 1024 ** 2;
/** For Node itself, the buffers of one batch, templates and grammars. */
const headroomBytes = 1536 * mebibyte;
const safetyFactor = 2;
const minReserveBytes = 512 * mebibyte;
const reserveShare = 1 / 16;
/** For files without these metadata: a large model without grouped-query attention. */
const defaultBytesPerToken = 2.5 * mebibyte;
/** Per cached value, including its share of the block's scale. */
const bytesPerValue = { f16: 2, q8_0: 34 / 32, q4_0: 18 / 32 } as const;

/**
 * The memory limit of a worker: twice its estimated need, so that a valid model never reaches it, but always leaving
 * a reserve for the server and the rest of the machine.
 */
export function memoryLimitBytes({ modelBytes, contextBytes, machineBytes }: MemoryNeeds): number {
  const wanted = safetyFactor * (modelBytes + contextBytes + headroomBytes);
  const reserve = Math.max(minReserveBytes, machineBytes * reserveShare);
  // Even on a machine too small for any model, the worker can start and report that.
  return Math.floor(Math.min(wanted, Math.max(headroomBytes, machineBytes - reserve)));
}

/** Keys and values of every layer for every token of every sequence, from the metadata of the file. */
export function estimateContextBytes(metadata: Metadata | undefined, plan: ContextPlan): number {
  const tokens = plan.contextTokens * plan.sequences;
  const values = countValuesPerToken(metadata);
  if (values === undefined) return tokens * defaultBytesPerToken;
  return tokens * values * bytesPerValue[plan.cacheType ?? "f16"];
}

function countValuesPerToken(metadata: Metadata | undefined): number | undefined {
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
