import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { FreeCores } from "@hearth-and-keep/engine-host";

/** All settings that a llama-server is started with, read by `launch.py` and `llamaServerArgs`. */
export type StartPlan = {
  readonly modelPath: string;
  readonly projectorPath: string | null;
  readonly adapters: readonly { readonly path: string; readonly scale: number }[];
  readonly socketPath: string;
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly slots: number;
  /** Per slot. */
  readonly contextTokens: number;
  /** The logical and the physical batch size (`--batch-size`, `--ubatch-size`). */
  readonly batchTokens: number;
  readonly stepTokens: number;
  readonly threads: number;
  readonly gpuLayers: number | null;
  readonly cacheType: "f16" | "q8_0" | "q4_0";
  readonly flashAttention: boolean | null;
  readonly memoryMap: boolean;
  /** HTTP threads. The server needs one per connection, even if idle, so there are more than we ever open. */
  readonly connections: number;
  readonly idleSeconds: number;
};

export type StartOptions = {
  readonly socketPath: string;
  readonly key: string;
  /** Whether a text to embed can be processed in several batches. */
  readonly splitsTexts: boolean;
};

/** All tokens of an image may have to fit into one batch. */
const imageBatchTokens = 2048;
const defaultStepTokens = 512;
const idleSeconds = 3600;

export async function planStart(plan: LoadPlan, options: StartOptions): Promise<StartPlan> {
  const { socketPath, key, splitsTexts } = options;
  const isGenerating = plan.purpose === "generate";
  const slots = isGenerating ? plan.sequences : 1;
  const canSplit = isGenerating || (splitsTexts && plan.purpose === "embed");
  const wantedTokens = plan.batchTokens ?? defaultStepTokens;
  const stepTokens = canSplit ? Math.min(wantedTokens, plan.contextTokens) : plan.contextTokens;
  return {
    modelPath: plan.modelPath,
    projectorPath: plan.projectorPath ?? null,
    adapters: plan.adapters ?? [],
    socketPath,
    key,
    purpose: plan.purpose,
    slots,
    contextTokens: plan.contextTokens,
    batchTokens: plan.projectorPath === undefined ? stepTokens : Math.max(imageBatchTokens, stepTokens),
    stepTokens,
    threads: plan.threads ?? (await countFreeCores()),
    gpuLayers: plan.gpuLayers ?? null,
    cacheType: plan.cacheType ?? "f16",
    flashAttention: plan.flashAttention ?? null,
    memoryMap: plan.memoryMap ?? true,
    connections: maxConnections(slots) + 2,
    idleSeconds,
  };
}

/** Two per slot, for a stream and a concurrent request, and a few more. */
export function maxConnections(slots: number): number {
  return 2 * slots + 8;
}

const measureMilliseconds = 120;

/**
 * The server cannot change its thread count later, so it uses the cores that are free now: one thread too many is far
 * worse than one too few.
 */
async function countFreeCores(): Promise<number> {
  const cores = new FreeCores();
  await sleep(measureMilliseconds);
  return Math.max(1, Math.round(cores.count() ?? 1));
}
