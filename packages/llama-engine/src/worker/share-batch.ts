import type { BatchItem, CustomBatchingPrioritizationStrategy, EvaluationPriority } from "node-llama-cpp";

/**
 * llama.cpp computes sequences together only if their numbers are consecutive in a batch. The binding does not pass
 * these numbers to a batching strategy, so they travel as the evaluation priority, which has no other use here.
 */
export function batchPosition(sequenceNumber: number): { readonly evaluationPriority: EvaluationPriority } {
  // The binding's own strategies expect 1 to 5; this one accepts any number.
  return { evaluationPriority: sequenceNumber as EvaluationPriority };
}

/** A running stream needs one token and the end of a prompt a few: items up to this size are always included whole. */
export const shortItemTokens = 32;
/**
 * A long prompt gets this many tokens of a shared batch, or none. On CPUs, llama.cpp's attention is slower for 20 to 63
 * tokens of a sequence than for 64. It computes as many tokens of each sequence as the shortest one has, then the rest:
 * beside a stream, 64 tokens would be one and 63, which take three times as long as one and 64.
 */
const blockTokens = 64;
const maxSavedBlocks = 8;
/** A stream needs about a dozen microtask turns from one token to requesting the next. */
const maxWaitTurns = 64;

export type BatchSharingOptions = {
  /** How many tokens of long prompts a shared batch may contain on average. */
  readonly tokensWhileShared: () => number;
  /** How many tokens of a long prompt a batch may contain that is alone in it. Called for every batch. */
  readonly tokensOfStep: (isAlone: boolean) => number;
  /** Called with the number of tokens in the next batch. */
  readonly onShared: (tokens: number) => void;
};

/**
 * Divides the next batch between requests. A long prompt that runs alone gets a whole step, which is a small one again as
 * soon as others have come: a large step that was begun before them ends in small ones. Otherwise long prompts
 * earn credit with every batch they skip and get a block when they can pay for it, so that running streams never wait
 * long for a token. They also skip a batch in which another request gets its first token, but never two in a row.
 *
 * The binding composes a batch right after it has sampled the last token of the previous one, a few microtasks before
 * that token's stream can request the next: one running stream would miss every batch. Returning an empty batch makes
 * the binding ask again one turn later, which gives the streams of the previous batch some microseconds to join.
 */
export function shareBatch(options: BatchSharingOptions): CustomBatchingPrioritizationStrategy {
  const { onShared, tokensOfStep } = options;
  const isComplete = createStreamBarrier();
  const selectLong = createBlockBudget(options);
  return ({ items, size }) => {
    if (!isComplete(items.length)) return [];
    const short = items.filter(isShort);
    const long = items.filter((item) => !isShort(item));
    const isAlone = items.length === 1;
    const stepTokens = tokensOfStep(isAlone);
    const sharedTokens = Math.max(0, ...short.map(({ tokens }) => tokens.length));
    const maxTokens = isAlone ? stepTokens : sharedTokens + blockTokens;
    const shares = [...short, ...(isAlone ? long : selectLong(long, short))]
      .toSorted((a, b) => a.evaluationPriority - b.evaluationPriority)
      .map((item) => ({
        item,
        processAmount: Math.min(size, withoutRemainder(item.tokens.length, maxTokens)),
      }));
    onShared(shares.reduce((sum, { processAmount }) => sum + processAmount, 0));
    return shares;
  };
}

function createStreamBarrier(): (present: number) => boolean {
  let expected = 0;
  let turns = 0;
  return (present) => {
    if (present < expected && turns < maxWaitTurns) {
      turns += 1;
      return false;
    }
    expected = present;
    turns = 0;
    return true;
  };
}

type SelectLongItems = (long: readonly BatchItem[], short: readonly BatchItem[]) => readonly BatchItem[];

/** Selects the long prompts that get a block of this batch: all of them if there are no short items. */
function createBlockBudget({ tokensWhileShared }: BatchSharingOptions): SelectLongItems {
  let credit = 0;
  let skipped = false;
  let turn = 0;
  return (long, short) => {
    if (short.length === 0) return long;
    const hasFirstToken = short.some(({ tokens }) => tokens.length > 1);
    credit = Math.min(credit + tokensWhileShared(), maxSavedBlocks * blockTokens);
    skipped = hasFirstToken && !skipped;
    if (skipped) return [];
    const blocks = Math.min(long.length, Math.floor(credit / blockTokens));
    credit -= blocks * blockTokens;
    turn += blocks;
    return Array.from({ length: blocks }, (_none, index) => long[(turn + index) % long.length]).flatMap(
      (item) => item ?? [],
    );
  };
}

/** Takes all tokens if the next block would be too small. */
function withoutRemainder(itemTokens: number, maxTokens: number): number {
  return itemTokens < maxTokens + blockTokens ? itemTokens : maxTokens;
}

function isShort({ tokens }: BatchItem): boolean {
  return tokens.length <= shortItemTokens;
}
