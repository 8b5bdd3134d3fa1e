import type { LlamaContextSequence, Token } from "node-llama-cpp";

/** While somebody else waits for a token, a step may hold them up no longer than this. */
const sharedStepMilliseconds = 100;
/** Alone, a step is longer, because large batches read faster; a hang-up is still noticed soon. */
const aloneStepMilliseconds = 400;
const smallestStep = 16;
const largestStep = 512;

/** How fast prompts are read here, learned from every step of every request. */
export class ReadingSpeed {
  #tokensPerMillisecond = 0.3;

  stepFor(isAlone: boolean): number {
    const milliseconds = isAlone ? aloneStepMilliseconds : sharedStepMilliseconds;
    const tokens = Math.floor(this.#tokensPerMillisecond * milliseconds);
    return Math.min(largestStep, Math.max(smallestStep, tokens));
  }

  learn(tokens: number, milliseconds: number): void {
    if (tokens < smallestStep) return;
    const measured = tokens / Math.max(0.1, milliseconds);
    this.#tokensPerMillisecond = 0.5 * this.#tokensPerMillisecond + 0.5 * measured;
  }
}

export type ReadingParts = {
  readonly speed: ReadingSpeed;
  readonly signal: AbortSignal;
  readonly isAlone: () => boolean;
  readonly onProgress: (evaluated: number) => void;
};

/**
 * Reads a prompt in steps, looking at the signal between them. Steps of several sequences travel in one batch with
 * the next tokens of running streams, so everybody gets a turn.
 */
export async function readPrompt(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  { speed, signal, isAlone, onProgress }: ReadingParts,
): Promise<void> {
  for (let start = 0; start < tokens.length; ) {
    signal.throwIfAborted();
    const step = tokens.slice(start, start + speed.stepFor(isAlone()));
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(step);
    speed.learn(step.length, performance.now() - startedAt);
    start += step.length;
    onProgress(start);
  }
  signal.throwIfAborted();
}
