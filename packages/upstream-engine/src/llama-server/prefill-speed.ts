import type { CompletionTimings } from "./read-completion.ts";

/** A step of a prompt takes about this long, so that a hang-up is noticed soon; shorter while others wait for tokens. */
const aloneMilliseconds = 250;
const sharedMilliseconds = 100;
/** Each step sends the whole beginning again, so a very long prompt is read in larger ones, but not in slow ones. */
const mostSteps = 64;
const longestStep = 4;
/** Below this many tokens, reading some takes about as long as reading all of them. */
const smallestStep = 16;
/** Until anything is known of the engine's speed, which may be that of a model far too large for its machine. */
const firstStep = 8;
const slowestTokensPerSecond = 2;
/** How much slower than so far it may become: other models, and programs, want the same cores. */
const patience = 3;

/** How fast prompts are read here, learned from what the engine says of each. */
export class ReadingSpeed {
  /** Undefined until something was read. */
  #tokensPerMillisecond: number | undefined;

  learn({ readTokens, readMilliseconds }: Omit<CompletionTimings, "cachedTokens">): void {
    const known = this.#tokensPerMillisecond;
    if (readTokens < (known === undefined ? firstStep : smallestStep) || readMilliseconds <= 0) return;
    const measured = readTokens / readMilliseconds;
    this.#tokensPerMillisecond = (measured + (known ?? measured)) / 2;
  }

  stepTokens(promptTokens: number, isAlone: boolean): number {
    const speed = this.#tokensPerMillisecond;
    if (speed === undefined) return firstStep;
    const timed = speed * (isAlone ? aloneMilliseconds : sharedMilliseconds);
    return Math.ceil(Math.max(smallestStep, timed, Math.min(promptTokens / mostSteps, timed * longestStep)));
  }

  /** How long reading so many tokens may take before somebody has to wonder. */
  longestSeconds(tokens: number): number {
    const speed = this.#tokensPerMillisecond;
    return speed === undefined ? tokens / slowestTokensPerSecond : (patience * tokens) / speed / 1000;
  }
}

/** Of a text that only the engine cuts into tokens: about as many as there are in one of few words of English. */
export function guessTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3);
}
