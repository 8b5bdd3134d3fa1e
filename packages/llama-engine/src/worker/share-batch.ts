import type { BatchItem, CustomBatchingPrioritizationStrategy, EvaluationPriority } from "node-llama-cpp";

/**
 * llama.cpp computes sequences together only as far as their numbers follow each other in a batch, and those out of
 * order one after another. The binding does not tell a strategy their numbers, but hands a priority on as it is, and
 * nothing else reads that.
 */
export function placeInBatch(sequenceNumber: number): { readonly evaluationPriority: EvaluationPriority } {
  // The binding's own strategies want 1 to 5; ours takes any number.
  return { evaluationPriority: sequenceNumber as EvaluationPriority };
}

/** A running stream asks for one token at a time and the end of a prompt for a few: these are always taken whole. */
export const shortItemTokens = 32;
/** A stream needs about a dozen turns of the microtask queue from its token to asking for the next one. */
const mostTurnsForLatecomers = 64;

export type SharingParts = {
  /** How many tokens of long prompts a batch may carry while others are in it. */
  readonly tokensWhileShared: () => number;
  /** Told how many tokens the next batch carries. */
  readonly onShared: (tokens: number) => void;
};

/**
 * Who gets how much of the next batch. Alone, a long prompt takes all of it; as soon as anybody else is in the
 * queue, long prompts share what about a twentieth of a second can hold, so that nobody waits long for a next token.
 * Where somebody is about to get a first one, they sit out a batch, though never two in a row.
 *
 * The binding composes a batch right after the last token of the one before is chosen, a few microtasks before the
 * stream that token belongs to can ask for its next: one stream of those running would sit out every batch. An empty
 * answer makes it ask again a turn later, so whoever was in the last batch is waited for, for some microseconds.
 */
export function shareBatch({
  tokensWhileShared,
  onShared,
}: SharingParts): CustomBatchingPrioritizationStrategy {
  let expected = 0;
  let turns = 0;
  let satOut = false;
  return ({ items, size }) => {
    if (items.length < expected && turns < mostTurnsForLatecomers) {
      turns += 1;
      return [];
    }
    expected = items.length;
    turns = 0;
    const short = items.filter(isShort);
    const isNewcomerIn = short.some(({ tokens }) => tokens.length > 1);
    const taken = isNewcomerIn && !satOut ? short : items;
    satOut = taken.length < items.length;
    const left = size - short.reduce((sum, item) => sum + item.tokens.length, 0);
    const allowed = items.length === 1 ? left : Math.min(left, tokensWhileShared());
    const forEachLong = Math.max(1, Math.floor(allowed / Math.max(1, items.length - short.length)));
    const shares = taken
      .toSorted((a, b) => a.evaluationPriority - b.evaluationPriority)
      .map((item) => ({
        item,
        processAmount: isShort(item) ? item.tokens.length : Math.min(forEachLong, item.tokens.length),
      }));
    onShared(shares.reduce((sum, { processAmount }) => sum + processAmount, 0));
    return shares;
  };
}

function isShort({ tokens }: BatchItem): boolean {
  return tokens.length <= shortItemTokens;
}
