import { availableParallelism } from "node:os";
import type { FreeCores } from "@hearth-and-keep/engine-host";
import type { Token } from "node-llama-cpp";
import type { ModelContext } from "./model-context.ts";
import { hookBatches } from "./native-context.ts";
import { ThreadTuner } from "./thread-tuner.ts";

/** The maximum delay of a load by a trial. */
const maxTrialMilliseconds = 900;

export type ThreadTuningOptions = {
  readonly context: ModelContext;
  /** Has been measuring since before the model was loaded. */
  readonly cores: FreeCores;
  /** How many tokens the next batch contains. */
  readonly batchTokens: () => number;
};

/**
 * Finds the fastest number of threads for a context and keeps adjusting it. Returns a getter for it. The first tokens of
 * a response are the trial, so that it delays no load. Embedded texts vary in length, so their batches say nothing about
 * speed: a context for them is tried before it is used.
 */
export async function tuneThreads({
  context,
  cores,
  batchTokens,
}: ThreadTuningOptions): Promise<() => number> {
  const tuner = new ThreadTuner({ maxThreads: availableParallelism(), freeCores: () => cores.count() });
  const isGenerating = context.purpose === "generate";
  hookBatches(context.context, {
    threads: () => tuner.threads,
    onBatch(milliseconds) {
      cores.recordBatch(milliseconds);
      if (isGenerating) tuner.observe(batchTokens(), milliseconds);
      else if (tuner.isTrying) tuner.observe(1, milliseconds);
    },
  });
  if (isGenerating) tuner.startTrialWithWork();
  else await tryThreads(tuner, createTrialWork(context));
  return () => tuner.threads;
}

async function tryThreads(tuner: ThreadTuner, step: () => Promise<unknown>): Promise<void> {
  tuner.startTrial(1);
  const startedAt = performance.now();
  while (tuner.isTrying && performance.now() - startedAt < maxTrialMilliseconds) await step();
  tuner.endTrial();
}

/** The smallest step of real work. Any token will do, because the result is discarded. */
function createTrialWork(context: Exclude<ModelContext, { purpose: "generate" }>): () => Promise<unknown> {
  // The binding brands its token ids; every vocabulary has this one.
  const anyToken = 1 as Token;
  return context.purpose === "embed"
    ? () => context.context.getEmbeddingFor([anyToken])
    : () => context.context.rank("a", "b");
}
