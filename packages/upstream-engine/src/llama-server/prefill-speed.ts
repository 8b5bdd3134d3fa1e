import type { CompletionTimings } from "./read-completion.ts";

/** Target duration of a step, so that a disconnect is noticed soon; shorter while other requests wait for tokens. */
const aloneMilliseconds = 250;
const sharedMilliseconds = 100;
/** Each step sends the whole prefix again, so very long prompts use larger steps, up to this multiple of the target. */
const maxSteps = 64;
const maxStepFactor = 4;
/** Evaluating fewer tokens than this takes about as long as evaluating this many. */
const minStepTokens = 16;
/** Used until the speed is known: the model may be far too large for the machine. */
const firstStepTokens = 8;
const minTokensPerSecond = 2;
/** How much slower than measured the engine may become, because other models and programs use the same cores. */
const slowdownFactor = 3;

/** The speed of prompt evaluation, measured from the timings that the engine reports. */
export class PrefillSpeed {
  /** Undefined until the first measurement. */
  #tokensPerMillisecond: number | undefined;

  record({ readTokens, readMilliseconds }: Omit<CompletionTimings, "cachedTokens">): void {
    const previous = this.#tokensPerMillisecond;
    if (readTokens < (previous === undefined ? firstStepTokens : minStepTokens) || readMilliseconds <= 0)
      return;
    const measured = readTokens / readMilliseconds;
    this.#tokensPerMillisecond = (measured + (previous ?? measured)) / 2;
  }

  stepTokens(promptTokens: number, isAlone: boolean): number {
    const speed = this.#tokensPerMillisecond;
    if (speed === undefined) return firstStepTokens;
    const target = speed * (isAlone ? aloneMilliseconds : sharedMilliseconds);
    return Math.ceil(
      Math.max(minStepTokens, target, Math.min(promptTokens / maxSteps, target * maxStepFactor)),
    );
  }

  /** The longest time that evaluating this many tokens is expected to take. */
  maxSeconds(tokens: number): number {
    const speed = this.#tokensPerMillisecond;
    return speed === undefined ? tokens / minTokensPerSecond : (slowdownFactor * tokens) / speed / 1000;
  }
}

/** A high estimate of the number of tokens in a text that only the engine can tokenize. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3);
}
