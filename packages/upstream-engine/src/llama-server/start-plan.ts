import { setTimeout as sleep } from "node:timers/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { FreeCores } from "@hearth-and-keep/engine-host";

/** Everything a llama-server is started with, in words of ours; `launch.py` and llamaServerWords read it. */
export type StartPlan = {
  readonly modelPath: string;
  readonly projectorPath: string | null;
  readonly adapters: readonly { readonly path: string; readonly scale: number }[];
  readonly socketPath: string;
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly slots: number;
  /** For each slot. */
  readonly contextTokens: number;
  /** Most tokens that are computed one after another before anybody else has a turn, and those at once. */
  readonly batchTokens: number;
  readonly stepTokens: number;
  readonly threads: number;
  readonly gpuLayers: number | null;
  readonly cacheType: "f16" | "q8_0" | "q4_0";
  readonly flashAttention: boolean | null;
  readonly memoryMap: boolean;
  /** It has a thread for each connection, idle ones too, so there are more of them than we ever open. */
  readonly connections: number;
  readonly idleSeconds: number;
};

export type StartDependencies = {
  readonly socketPath: string;
  readonly key: string;
  /** Whether a text to embed may be read in several pieces. */
  readonly splitsTexts: boolean;
};

/** All tokens of an image may have to go into one batch. */
const seeingBatchTokens = 2048;
const usualStepTokens = 512;
const idleSeconds = 3600;

export async function planStart(plan: LoadPlan, parts: StartDependencies): Promise<StartPlan> {
  const { socketPath, key, splitsTexts } = parts;
  const isGenerating = plan.purpose === "generate";
  const slots = isGenerating ? plan.sequences : 1;
  const isInPieces = isGenerating || (splitsTexts && plan.purpose === "embed");
  const stepTokens = isInPieces ? Math.min(usualStepTokens, plan.contextTokens) : plan.contextTokens;
  return {
    modelPath: plan.modelPath,
    projectorPath: plan.projectorPath ?? null,
    adapters: plan.adapters ?? [],
    socketPath,
    key,
    purpose: plan.purpose,
    slots,
    contextTokens: plan.contextTokens,
    batchTokens: plan.projectorPath === undefined ? stepTokens : Math.max(seeingBatchTokens, stepTokens),
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

/** An answer under way and a question beside it for each slot, and a few for everybody. */
export function maxConnections(slots: number): number {
  return 2 * slots + 8;
}

const lookMilliseconds = 120;

/** It cannot change its count later, so it takes what is free now: a thread too many is far worse than one too few. */
async function countFreeCores(): Promise<number> {
  const cores = new FreeCores();
  await sleep(lookMilliseconds);
  return Math.max(1, Math.round(cores.count() ?? 1));
}
