/**
 * @module
 * How much memory an engine process may use: an estimate from the model's metadata and the load plan, and the cgroup
 * that enforces it. Imported by the drivers.
 */
import { stat } from "node:fs/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { inspectModelFile, type Metadata } from "@hearth-and-keep/gguf";
import { estimateContextBytes, memoryLimitBytes } from "./memory-limit.ts";

/** Every file a worker opens for a plan. Parts of a split model lie beside its first file. */
export function filesOf({ modelPath, adapters = [], projectorPath }: LoadPlan): readonly string[] {
  const [, stem, count] = /^(.*-)\d{5}-of-(\d{5})\.gguf$/.exec(modelPath) ?? [];
  const parts = Array.from({ length: Number(count ?? 0) }, (_none, index) => {
    return `${stem}${String(index + 1).padStart(5, "0")}-of-${count}.gguf`;
  });
  const others = [
    ...adapters.map(({ path }) => path),
    ...(projectorPath === undefined ? [] : [projectorPath]),
  ];
  return [...(parts.length > 0 ? parts : [modelPath]), ...others];
}

/** How much memory the worker of a plan may take on a machine with so much. */
export async function limitOfPlan(plan: LoadPlan, machineBytes: number): Promise<number> {
  const sizes = await Promise.all(filesOf(plan).map((path) => sizeOf(path)));
  const modelBytes = sizes.reduce((sum, size) => sum + size, 0);
  const contextBytes = estimateContextBytes(await metadataOf(plan.modelPath), plan) + imageBytesOf(plan);
  return memoryLimitBytes({ modelBytes, contextBytes, machineBytes });
}

/** The images of a request are decoded all at once; the largest that are let through need about so much. */
const imageBytesOfRequest = 512 * 1024 ** 2;

function imageBytesOf({ projectorPath, sequences }: LoadPlan): number {
  return projectorPath === undefined ? 0 : sequences * imageBytesOfRequest;
}

/** A missing or broken file is the worker's to tell of; for the limit it only counts as nothing known. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function metadataOf(path: string): Promise<Metadata | undefined> {
  return (await inspectModelFile(path).catch(() => undefined))?.metadata;
}
