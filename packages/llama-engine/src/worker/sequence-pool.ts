import type { LlamaContextSequence, Token } from "node-llama-cpp";

export type Place = Disposable & {
  readonly sequence: LlamaContextSequence;
  /** Its place in the context, which is also its place in a batch. */
  readonly number: number;
  readonly cachedTokens: number;
};

type Slot = {
  readonly sequence: LlamaContextSequence;
  readonly number: number;
  partition: string;
  isTaken: boolean;
  usedAt: number;
};
type Waiting = { readonly wanted: Wanted; readonly give: (slot: Slot) => void };
export type Wanted = {
  readonly prompt: readonly Token[];
  readonly partition: string;
  readonly signal: AbortSignal;
};

/**
 * The sequences of one context, lent one to each conversation under way. A request gets the free one that has the
 * longest part of its prompt already in it, else one beside those at work; what another partition left behind is never used, not even to measure.
 */
export class SequencePool {
  readonly #slots: readonly Slot[];
  #waiting: Waiting[] = [];
  readonly #cutting = new Set<Promise<number>>();

  constructor(sequences: readonly LlamaContextSequence[]) {
    this.#slots = sequences.map((sequence, number) => ({
      sequence,
      number,
      partition: "",
      isTaken: false,
      usedAt: 0,
    }));
  }

  get freeSequences(): number {
    return this.#slots.filter((slot) => !slot.isTaken).length;
  }

  get waitingRequests(): number {
    return this.#waiting.length;
  }

  /**
   * Everybody else waits here before the next token while a sequence is cut back: the binding cannot do it as long
   * as a single token is asked for, so that a newcomer would wait until all answers under way are complete.
   */
  letNewcomersIn(): Promise<unknown> | undefined {
    // Undefined, because even a promise that is kept already would make its caller miss the next batch.
    return this.#cutting.size > 0 ? Promise.allSettled(this.#cutting) : undefined;
  }

  /** Waits for a free sequence, first come first served; the state it holds matches the prompt's beginning. */
  async lend(wanted: Wanted): Promise<Place> {
    const slot = await this.#take(wanted);
    try {
      wanted.signal.throwIfAborted();
      const cachedTokens = await this.#cutBack(slot, wanted);
      const { sequence, number } = slot;
      return { sequence, number, cachedTokens, [Symbol.dispose]: () => this.#giveBack(slot) };
    } catch (problem) {
      this.#giveBack(slot);
      throw problem;
    }
  }

  async #cutBack(slot: Slot, wanted: Wanted): Promise<number> {
    const cut = keepCommonPrefix(slot, wanted);
    this.#cutting.add(cut);
    try {
      return await cut;
    } finally {
      this.#cutting.delete(cut);
    }
  }

  #take(wanted: Wanted): Promise<Slot> {
    const slot = this.#bestFree(wanted);
    if (slot !== undefined) {
      slot.isTaken = true;
      return Promise.resolve(slot);
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { wanted, give: resolve };
      this.#waiting.push(waiting);
      wanted.signal.addEventListener(
        "abort",
        () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiting);
          reject(wanted.signal.reason);
        },
        { once: true },
      );
    });
  }

  #bestFree(wanted: Wanted): Slot | undefined {
    return this.#slots
      .filter((slot) => !slot.isTaken)
      .map((slot) => ({
        slot,
        common: slot.partition === wanted.partition ? commonPrefix(slot, wanted.prompt) : 0,
        neighbours: this.#takenNeighbours(slot),
      }))
      .toSorted(
        (a, b) => b.common - a.common || b.neighbours - a.neighbours || a.slot.usedAt - b.slot.usedAt,
      )[0]?.slot;
  }

  /** Streams in neighbouring sequences are computed together: see share-batch.ts. */
  #takenNeighbours({ number }: Slot): number {
    return [number - 1, number + 1].filter((each) => this.#slots[each]?.isTaken === true).length;
  }

  #giveBack(slot: Slot): void {
    slot.isTaken = false;
    slot.usedAt = performance.now();
    const next = this.#waiting.shift();
    if (next === undefined) return;
    const best = this.#bestFree(next.wanted) ?? slot;
    best.isTaken = true;
    next.give(best);
  }
}

function commonPrefix({ sequence }: Slot, prompt: readonly Token[]): number {
  const present = sequence.contextTokens;
  const limit = Math.min(present.length, prompt.length);
  let length = 0;
  while (length < limit && present[length] === prompt[length]) length += 1;
  return length;
}

/** Leaves only what this request may reuse; the last token of a prompt is always read, for its logits. */
async function keepCommonPrefix(slot: Slot, { prompt, partition }: Wanted): Promise<number> {
  const { sequence } = slot;
  const isShared = slot.partition === partition;
  slot.partition = partition;
  if (!isShared) {
    if (sequence.nextTokenIndex > 0) await sequence.clearHistory();
    return 0;
  }
  const keep = Math.min(commonPrefix(slot, prompt), prompt.length - 1);
  if (keep < sequence.nextTokenIndex) {
    await sequence.eraseContextTokenRanges([{ start: keep, end: sequence.nextTokenIndex }]);
  }
  // A model without random access to its state goes back to an earlier checkpoint.
  return sequence.nextTokenIndex;
}
