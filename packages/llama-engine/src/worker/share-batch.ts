import type { CustomBatchingPrioritizationStrategy } from "node-llama-cpp";

/** A running stream asks for one token at a time and a short prompt for a few: these are always taken whole. */
const shortItemTokens = 32;

export type SharingParts = {
  /** How many tokens of long prompts a batch may carry while others are in it. */
  readonly tokensWhileShared: () => number;
  /** Told how many tokens the next batch carries. */
  readonly onShared: (tokens: number) => void;
};

/**
 * Who gets how much of the next batch. Alone, a long prompt takes all of it; as soon as anybody else is in the
 * queue, long prompts share what about a twentieth of a second can hold, so that nobody waits long for a first or a
 * next token.
 */
export function shareBatch({
  tokensWhileShared,
  onShared,
}: SharingParts): CustomBatchingPrioritizationStrategy {
  return ({ items, size }) => {
    const short = items.filter((item) => item.tokens.length <= shortItemTokens);
    const long = items.filter((item) => item.tokens.length > shortItemTokens);
    const left = size - short.reduce((sum, item) => sum + item.tokens.length, 0);
    const allowed = items.length === 1 ? left : Math.min(left, tokensWhileShared());
    const each = Math.max(1, Math.floor(allowed / Math.max(1, long.length)));
    const shares = [
      ...short.map((item) => ({ item, processAmount: item.tokens.length })),
      ...long.map((item) => ({ item, processAmount: Math.min(each, item.tokens.length) })),
    ];
    onShared(shares.reduce((sum, { processAmount }) => sum + processAmount, 0));
    return shares;
  };
}
