import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { FreeCores } from "@hearth-and-keep/engine-host";
import type { Token } from "node-llama-cpp";
import type { ModelContext } from "./model-context.ts";
import { hookBatches } from "./native-context.ts";
import { ThreadTuner } from "./thread-tuner.ts";

/** The maximum delay of a load by the first trial. */
const maxTrialMilliseconds = 900;
/** How long free cores are measured before the first trial. */
const coreMeasurementMilliseconds = 100;

export type ThreadTuningOptions = {
  readonly context: ModelContext;
  /** How many tokens the next batch contains. */
  readonly batchTokens: () => number;
};

/** Finds the fastest number of threads for a context now and keeps adjusting it. Returns a getter for it. */
export async function tuneThreads({ context, batchTokens }: ThreadTuningOptions): Promise<() => number> {
  const cores = new FreeCores();
  const tuner = new ThreadTuner({ maxThreads: availableParallelism(), freeCores: () => cores.count() });
  const isGenerating = context.purpose === "generate";
  let isMeasuring = true;
  hookBatches(context.context, {
    threads: () => tuner.threads,
    onBatch(milliseconds) {
      cores.recordBatch(milliseconds);
      // Embedded texts vary in length, so their batches say nothing about speed.
      if (isMeasuring || isGenerating) tuner.observe(isMeasuring ? 1 : batchTokens(), milliseconds);
    },
  });
  await sleep(coreMeasurementMilliseconds);
  tuner.startTrial(1);
  const work = createTrialWork(context);
  const startedAt = performance.now();
  while (tuner.isTrying && performance.now() - startedAt < maxTrialMilliseconds) await work.step();
  tuner.endTrial();
  await work.clear();
  isMeasuring = false;
  return () => tuner.threads;
}

type TrialWork = { readonly step: () => Promise<unknown>; readonly clear: () => Promise<void> };

/** The smallest step of real work, repeated. Any token will do, because the result is discarded. */
function createTrialWork(context: ModelContext): TrialWork {
  // The binding brands its token ids; every vocabulary has this one.
  const anyToken = 1 as Token;
  switch (context.purpose) {
    case "generate": {
      const [sequence] = context.sequences;
      return {
        step: async () => sequence?.evaluateWithoutGeneratingNewTokens([anyToken]),
        clear: async () => sequence?.clearHistory(),
      };
    }
    case "embed":
      return { step: () => context.context.getEmbeddingFor([anyToken]), clear: async () => undefined };
    case "rank":
      return { step: () => context.context.rank("a", "b"), clear: async () => undefined };
  }
}
