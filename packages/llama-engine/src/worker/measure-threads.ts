import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { FreeCores } from "@hearth-and-keep/engine-host";
import type { Token } from "node-llama-cpp";
import type { ModelContext } from "./model-context.ts";
import { watchBatches } from "./native-context.ts";
import { ThreadTuner } from "./thread-tuner.ts";

/** Trying counts at the start may not hold a load up for longer. */
const mostMilliseconds = 900;
/** How long the machine is looked at before. */
const lookMilliseconds = 100;

export type ThreadsParts = {
  readonly context: ModelContext;
  /** How many tokens the batch about to be computed carries. */
  readonly batchTokens: () => number;
};

/** Gives a context the count of threads that is fastest now, and from then on; the answer tells it. */
export async function tuneThreads({ context, batchTokens }: ThreadsParts): Promise<() => number> {
  const cores = new FreeCores();
  const tuner = new ThreadTuner({ mostThreads: availableParallelism(), freeCores: () => cores.count() });
  const isGenerating = context.purpose === "generate";
  let isMeasuring = true;
  watchBatches(context.context, {
    threads: () => tuner.threads,
    onBatch(milliseconds) {
      cores.noteBatch(milliseconds);
      // Texts to embed have all lengths, so their batches tell nothing about speed.
      if (isMeasuring || isGenerating) tuner.observe(isMeasuring ? 1 : batchTokens(), milliseconds);
    },
  });
  await sleep(lookMilliseconds);
  tuner.startTrial(1);
  const work = workOn(context);
  const startedAt = performance.now();
  while (tuner.isTrying && performance.now() - startedAt < mostMilliseconds) await work.step();
  tuner.endTrial();
  await work.clear();
  isMeasuring = false;
  return () => tuner.threads;
}

type Work = { readonly step: () => Promise<unknown>; readonly clear: () => Promise<void> };

/** The smallest step of real work, over and over: any token will do, because nobody reads the result. */
function workOn(context: ModelContext): Work {
  // The binding brands its token numbers; every vocabulary has this one.
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
