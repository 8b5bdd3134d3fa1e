import type { EngineDescription, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { getLlama, type Llama, LlamaLogLevel, type LlamaOptions } from "node-llama-cpp";
import type { GpuBuild } from "../channel/messages.ts";
import { countGpuBytes } from "./gpu-memory.ts";

export type OpenGpu = {
  readonly llama: Llama;
  /** Complete once the model and its context are loaded. */
  readonly describe: () => Pick<EngineDescription, "gpuDevice" | "gpuBytes">;
};

/** Opens the binding's build for a GPU, and counts what llama.cpp says that it allocates there. */
export async function openGpu(backend: GpuBuild["backend"], options: LlamaOptions): Promise<OpenGpu> {
  let gpuBytes = 0;
  const llama = await getLlama({
    ...options,
    gpu: backend,
    logLevel: LlamaLogLevel.info,
    logger: (_level, message) => {
      gpuBytes += countGpuBytes(message);
    },
  }).catch((cause: unknown) => {
    throw gpuFailure("its library cannot be loaded", cause);
  });
  const devices = llama.gpu === backend && llama.supportsGpuOffloading ? await llama.getGpuDeviceNames() : [];
  if (devices.length === 0) throw gpuFailure("no usable device was found");
  return { llama, describe: () => ({ gpuDevice: devices.join(", "), gpuBytes }) };
}

function gpuFailure(reason: string, cause?: unknown): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "gpu-failed", reason }, { cause });
}
