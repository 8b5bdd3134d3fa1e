import type { CompletionTimings } from "./read-completion.ts";

/** A step of a prompt takes about this long, so that a hang-up is noticed soon; shorter while others wait for tokens. */
const aloneMilliseconds = 250;
const sharedMilliseconds = 100;
const smallestStep = 16;
/** Until anything is known of the engine's speed. */
const firstStep = 64;
/** Each step sends the whole beginning again, so a very long prompt is read in larger ones. */
const mostSteps = 64;

/** How fast prompts are read here, learned from what the engine says of each. */
export class ReadingSpeed {
  /** Undefined until something was read. */
  #tokensPerMillisecond: number | undefined;

  learn({ readTokens, readMilliseconds }: CompletionTimings): void {
    if (readTokens < smallestStep || readMilliseconds <= 0) return;
    const measured = readTokens / readMilliseconds;
    this.#tokensPerMillisecond = (measured + (this.#tokensPerMillisecond ?? measured)) / 2;
  }

  stepTokens(promptTokens: number, isAlone: boolean): number {
    const speed = this.#tokensPerMillisecond;
    const timed =
      speed === undefined ? firstStep : speed * (isAlone ? aloneMilliseconds : sharedMilliseconds);
    return Math.ceil(Math.max(smallestStep, timed, promptTokens / mostSteps));
  }
}
