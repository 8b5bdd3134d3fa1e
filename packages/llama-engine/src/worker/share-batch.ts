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
/**
 * What a long prompt gets of a shared batch: so many or none. On processors llama.cpp's attention takes longer for 20
 * to 63 tokens of one sequence than for 64.
 */
const blockTokens = 64;
const mostBlocksSaved = 8;
/** A stream needs about a dozen turns of the microtask queue from its token to asking for the next one. */
const mostTurnsForLatecomers = 64;

export type SharingParts = {
  /** How many tokens of long prompts a batch may carry while others are in it, on average. */
  readonly tokensWhileShared: () => number;
  /** Told how many tokens the next batch carries. */
  readonly onShared: (tokens: number) => void;
};

/**
 * Who gets how much of the next batch. Alone, a long prompt takes all of it; as soon as anybody else is in the queue,
 * long prompts wait until enough batches have gone by without them to pay for a block, so that nobody waits long for
 * a next token. Where somebody is about to get a first one, they sit out that batch, though never two in a row.
 *
 * The binding composes a batch right after the last token of the one before is chosen, a few microtasks before the
 * stream that token belongs to can ask for its next: one stream of those running would sit out every batch. An empty
 * answer makes it ask again a turn later, so whoever was in the last batch is waited for, for some microseconds.
 */
export function shareBatch(parts: SharingParts): CustomBatchingPrioritizationStrategy {
  const { onShared } = parts;
  const isComplete = waitForLatecomers();
  const chooseLong = payByBlock(parts);
  return ({ items, size }) => {
    if (!isComplete(items.length)) return [];
    const short = items.filter(isShort);
    const long = items.filter((item) => !isShort(item));
    const most = items.length === 1 ? size : blockTokens;
    const shares = [...short, ...(items.length === 1 ? long : chooseLong(long, short))]
      .toSorted((a, b) => a.evaluationPriority - b.evaluationPriority)
      .map((item) => ({ item, processAmount: Math.min(item.tokens.length, most) }));
    onShared(shares.reduce((sum, { processAmount }) => sum + processAmount, 0));
    return shares;
  };
}

function waitForLatecomers(): (present: number) => boolean {
  let expected = 0;
  let turns = 0;
  return (present) => {
    if (present < expected && turns < mostTurnsForLatecomers) {
      turns += 1;
      return false;
    }
    expected = present;
    turns = 0;
    return true;
  };
}

type LongItems = (long: readonly BatchItem[], short: readonly BatchItem[]) => readonly BatchItem[];

/** Which long prompts get a block of this batch. Among themselves all do: nobody waits for a token then. */
function payByBlock({ tokensWhileShared }: SharingParts): LongItems {
  let credit = 0;
  let satOut = false;
  let turn = 0;
  return (long, short) => {
    if (short.length === 0) return long;
    const isNewcomerIn = short.some(({ tokens }) => tokens.length > 1);
    credit = Math.min(credit + tokensWhileShared(), mostBlocksSaved * blockTokens);
    satOut = isNewcomerIn && !satOut;
    if (satOut) return [];
    const blocks = Math.min(long.length, Math.floor(credit / blockTokens));
    credit -= blocks * blockTokens;
    turn += blocks;
    return Array.from({ length: blocks }, (_none, index) => long[(turn + index) % long.length]).flatMap(
      (item) => item ?? [],
    );
  };
}

function isShort({ tokens }: BatchItem): boolean {
  return tokens.length <= shortItemTokens;
}
