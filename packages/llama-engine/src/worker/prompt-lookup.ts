import type { Token } from "node-llama-cpp";

export type Guess = {
  readonly tokens: readonly Token[];
  /** How many tokens before the guess are the same as before its source. */
  readonly matchedTokens: number;
};

/** Of a text that repeats itself, only the latest places are compared. */
const maxCandidates = 24;
/** A longer match says little more. */
const maxMatchedTokens = 16;
/** Vocabularies are smaller, so that two tokens make one exact key. */
const maxVocabulary = 2 ** 24;

/**
 * Guesses the next tokens of a text from an earlier place that ends in the same tokens: answers repeat the code, the names
 * and the JSON keys of their prompt. Knows the tokens of one request only, because the time of an answer tells whether a
 * guess was right.
 */
export class PromptLookup {
  /** The prompt and the output so far; grows between calls. */
  readonly #tokens: readonly Token[];
  /** The last index at which a pair of tokens ends. */
  readonly #latest = new Map<number, number>();
  /** For each index, the one before it at which the same pair ends; -1 for none. */
  readonly #previous: number[] = [];

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The longest match, and of several the latest; undefined if the last two tokens never occurred before. */
  guess(maxTokens: number): Guess | undefined {
    const last = this.#tokens.length - 1;
    if (last < 1 || maxTokens < 1) return undefined;
    this.#indexUntil(last);
    let index = this.#latest.get(this.#pairAt(last)) ?? -1;
    let best = { index: -1, matchedTokens: 0 };
    for (let tries = 0; index >= 0 && tries < maxCandidates; tries += 1) {
      const matchedTokens = this.#countMatching(index, last);
      if (matchedTokens > best.matchedTokens) best = { index, matchedTokens };
      if (matchedTokens === maxMatchedTokens) break;
      index = this.#previous[index] ?? -1;
    }
    if (best.index < 0) return undefined;
    return { tokens: this.#copyAfter(best.index, maxTokens), matchedTokens: best.matchedTokens };
  }

  /** The end itself is left out: it would match itself. */
  #indexUntil(end: number): void {
    for (let index = this.#previous.length; index < end; index += 1) {
      const pair = this.#pairAt(index);
      this.#previous.push(index === 0 ? -1 : (this.#latest.get(pair) ?? -1));
      if (index > 0) this.#latest.set(pair, index);
    }
  }

  #pairAt(index: number): number {
    return (this.#tokens[index - 1] ?? 0) * maxVocabulary + (this.#tokens[index] ?? 0);
  }

  #countMatching(index: number, last: number): number {
    let count = 0;
    while (count < maxMatchedTokens && count <= index) {
      if (this.#tokens[index - count] !== this.#tokens[last - count]) break;
      count += 1;
    }
    return count;
  }

  /** Beyond the end of the text the guess continues with itself, as a list or a table does. */
  #copyAfter(index: number, count: number): readonly Token[] {
    const copied: Token[] = [];
    for (let from = index + 1; copied.length < count; from += 1) {
      const token = this.#tokens[from] ?? copied[from - this.#tokens.length];
      if (token === undefined) break;
      copied.push(token);
    }
    return copied;
  }
}
