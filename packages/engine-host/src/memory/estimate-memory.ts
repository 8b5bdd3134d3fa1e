/**
 * @module
 * How much memory an engine process may use: an estimate from the model's metadata and the load plan, and the cgroup
 * that enforces it. Imported by the drivers.
 */
import { stat } from "node:fs/promises";
import type { LoadPlan } from "@hearth-and-keep/engine";
import { inspectModelFile, type Metadata } from "@hearth-and-keep/gguf";
import { estimateContextBytes, memoryLimitBytes } from "./memory-limit.ts";

/** All files a worker opens for a plan. The shards of a split model are in the same folder as the first. */
export function listModelFiles({ modelPath, adapters = [], projectorPath }: LoadPlan): readonly string[] {
  const [, stem, count] = /^(.*-)\d{5}-of-(\d{5})\.gguf$/.exec(modelPath) ?? [];
  const shards = Array.from({ length: Number(count ?? 0) }, (_none, index) => {
    return `${stem}${String(index + 1).padStart(5, "0")}-of-${count}.gguf`;
  });
  const others = [
    ...adapters.map(({ path }) => path),
    ...(projectorPath === undefined ? [] : [projectorPath]),
  ];
  return [...(shards.length > 0 ? shards : [modelPath]), ...others];
}

/** The memory limit for the worker of a plan, given the memory of the machine. */
export async function memoryLimitForPlan(plan: LoadPlan, machineBytes: number): Promise<number> {
  const sizes = await Promise.all(listModelFiles(plan).map((path) => fileSize(path)));
  const modelBytes = sizes.reduce((sum, size) => sum + size, 0);
  const contextBytes =
    estimateContextBytes(await readMetadata(plan.modelPath), plan) + estimateImageBytes(plan);
  return memoryLimitBytes({ modelBytes, contextBytes, machineBytes });
}

/** All images of a request are decoded at once; the largest accepted ones need about this much. */
const imageBytesPerRequest = 512 * 1024 ** 2;

function estimateImageBytes({ projectorPath, sequences }: LoadPlan): number {
  return projectorPath === undefined ? 0 : sequences * imageBytesPerRequest;
}

/** A missing or unreadable file counts as empty here; the worker reports the error when it opens it. */
async function fileSize(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function readMetadata(path: string): Promise<Metadata | undefined> {
  return (await inspectModelFile(path).catch(() => undefined))?.metadata;
}
