import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from "node-llama-cpp";

/** While somebody else waits for a token, a batch may hold them up no longer than about this. */
const sharedMilliseconds = 50;
/** Alone, a step is longer, because large batches read faster; a newcomer or a hang-up is still noticed soon. */
const aloneMilliseconds = 60;
const smallestSharedStep = 16;
/** Below this many tokens the kernels of llama.cpp read at little more than half their speed. */
const smallestAloneStep = 64;
const largestStep = 512;

/** How fast prompts are read here, learned from every step of every request. */
export class ReadingSpeed {
  #tokensPerMillisecond = 0.4;

  /** How many tokens of long prompts a batch may carry while others are in it. */
  get sharedTokens(): number {
    return clamp(this.#tokensPerMillisecond * sharedMilliseconds, smallestSharedStep);
  }

  get aloneTokens(): number {
    const wholeBlocks = Math.round((this.#tokensPerMillisecond * aloneMilliseconds) / smallestAloneStep);
    return clamp(wholeBlocks * smallestAloneStep, smallestAloneStep);
  }

  /** Only undisturbed steps tell how fast the machine reads. */
  learn(tokens: number, milliseconds: number): void {
    if (tokens < smallestAloneStep) return;
    this.#tokensPerMillisecond =
      0.5 * this.#tokensPerMillisecond + (0.5 * tokens) / Math.max(0.1, milliseconds);
  }
}

function clamp(tokens: number, smallest: number): number {
  return Math.min(largestStep, Math.max(smallest, Math.floor(tokens)));
}

export type ReadingParts = {
  readonly options: Pick<SequenceEvaluateOptions, "evaluationPriority">;
  readonly speed: ReadingSpeed;
  readonly signal: AbortSignal;
  readonly isAlone: () => boolean;
  readonly letNewcomersIn: () => Promise<unknown> | undefined;
  readonly onProgress: (evaluated: number) => void;
};

/**
 * Reads a prompt in steps, looking at the signal between them. Steps of several sequences travel in one batch with
 * the next tokens of running streams; how they share it is decided in share-batch.ts.
 */
export async function readPrompt(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  { options, speed, signal, isAlone, letNewcomersIn, onProgress }: ReadingParts,
): Promise<void> {
  for (let start = 0; start < tokens.length; ) {
    const newcomers = letNewcomersIn();
    if (newcomers !== undefined) await newcomers;
    signal.throwIfAborted();
    const wasAlone = isAlone();
    const step = tokens.slice(start, start + speed.aloneTokens);
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(step, options);
    if (wasAlone && isAlone()) speed.learn(step.length, performance.now() - startedAt);
    start += step.length;
    onProgress(start);
  }
  signal.throwIfAborted();
}
