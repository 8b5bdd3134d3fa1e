import { basename } from "node:path";
import type { EngineFailure, LoadOptions, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { SupervisedWorker } from "./supervise-worker.ts";

type Start = (plan: LoadPlan, options: LoadOptions) => Promise<SupervisedWorker>;

export type GpuFallbackOptions = {
  readonly onWarning: (message: string) => void;
  readonly onGpuLost: (reason: string) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
};

/** A GPU that was lost, e.g. because its driver was reset, may work again later. */
const retrySeconds = 600;

/**
 * Starts models on the GPU, and on the CPU if it fails there:
 *
 *   usable --a load fails--> usable: only this load runs on the CPU
 *   usable --lost while a model runs--> lost: every load runs on the CPU
 *   lost --ten minutes--> usable
 */
export function withProcessorFallback(start: Start, options: GpuFallbackOptions): Start {
  const { onWarning, onGpuLost, now = () => performance.now() } = options;
  let lost: { readonly at: number; readonly reason: string } | undefined;
  const handleExit = (failure: EngineFailure | undefined): void => {
    const reason = reasonOf(failure);
    if (reason === undefined) return;
    lost = { at: now(), reason };
    onWarning(`The GPU was lost (${reason}); models run on the CPU for ${retrySeconds / 60} minutes`);
    onGpuLost(reason);
  };
  return async (plan, loadOptions) => {
    if (plan.gpuLayers === 0) return start(plan, loadOptions);
    if (lost !== undefined && now() - lost.at >= retrySeconds * 1000) lost = undefined;
    if (lost !== undefined) return startOnProcessor(start, { plan, loadOptions, reason: lost.reason });
    try {
      const worker = await start(plan, loadOptions);
      void worker.exited.then(handleExit);
      return worker;
    } catch (error) {
      // The supervisor throws failures of the engine port only.
      const failure = error instanceof FailureError ? (error.failure as EngineFailure) : undefined;
      const reason = reasonOf(failure);
      if (loadOptions.signal.aborted || reason === undefined) throw error;
      onWarning(`The GPU cannot load "${basename(plan.modelPath)}" (${reason}); it runs on the CPU`);
      return startOnProcessor(start, { plan, loadOptions, reason });
    }
  };
}

type ProcessorStart = {
  readonly plan: LoadPlan;
  readonly loadOptions: LoadOptions;
  readonly reason: string;
};

async function startOnProcessor(
  start: Start,
  { plan, loadOptions, reason }: ProcessorStart,
): Promise<SupervisedWorker> {
  const worker = await start({ ...plan, gpuLayers: 0 }, loadOptions);
  return { ...worker, describe: () => ({ ...worker.describe(), gpuFailure: reason }) };
}

/** Undefined for failures that the GPU cannot have caused. */
function reasonOf(failure: EngineFailure | undefined): string | undefined {
  if (failure?.kind === "gpu-failed") return failure.reason;
  if (failure?.kind === "engine-crashed") {
    return `the engine exited with ${failure.signal ?? `exit code ${failure.exitCode}`}`;
  }
  return failure === undefined ? undefined : otherReasons[failure.kind];
}

const otherReasons: Partial<Record<EngineFailure["kind"], string>> = {
  "engine-hung": "the engine did not respond",
  "load-timed-out": "loading made no progress",
  "insufficient-memory": "its memory is too small",
  "model-invalid": "the model cannot be loaded there",
};
