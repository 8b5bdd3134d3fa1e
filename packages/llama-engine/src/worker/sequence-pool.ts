import { type Place, PlacePool, type Wanted } from "@hearth-and-keep/engine-host";
import type { LlamaContextSequence } from "node-llama-cpp";

export type LentSequence = Disposable & {
  readonly sequence: LlamaContextSequence;
  /** Its place in the context, which is also its place in a batch. */
  readonly number: number;
  readonly cachedTokens: number;
};

/** The sequences of one context: lent as every place is, and cut back to what the next request may reuse. */
export class SequencePool {
  readonly #places: PlacePool<LlamaContextSequence>;
  readonly #cutting = new Set<Promise<number>>();

  constructor(sequences: readonly LlamaContextSequence[]) {
    this.#places = new PlacePool(sequences, {
      present: ({ contextTokens }) => contextTokens,
      // Streams in neighbouring sequences are computed together: see share-batch.ts.
      prefersNeighbours: true,
    });
  }

  get freeSequences(): number {
    return this.#places.freePlaces;
  }

  get waitingRequests(): number {
    return this.#places.waitingRequests;
  }

  /**
   * Everybody else waits here before the next token while a sequence is cut back: the binding cannot do it as long
   * as a single token is asked for, so that a newcomer would wait until all answers under way are complete.
   */
  letNewcomersIn(): Promise<unknown> | undefined {
    // Undefined, because even a promise that is kept already would make its caller miss the next batch.
    return this.#cutting.size > 0 ? Promise.allSettled(this.#cutting) : undefined;
  }

  /** Waits for a free sequence; the state it holds matches the prompt's beginning. */
  async lend(wanted: Wanted): Promise<LentSequence> {
    const place = await this.#places.take(wanted);
    try {
      wanted.signal.throwIfAborted();
      const cachedTokens = await this.#cutBack(place, wanted);
      const { holder: sequence, number } = place;
      return { sequence, number, cachedTokens, [Symbol.dispose]: () => this.#places.giveBack(place) };
    } catch (problem) {
      this.#places.giveBack(place);
      throw problem;
    }
  }

  async #cutBack(place: Place<LlamaContextSequence>, wanted: Wanted): Promise<number> {
    const cut = this.#keepCommonPrefix(place, wanted);
    this.#cutting.add(cut);
    try {
      return await cut;
    } finally {
      this.#cutting.delete(cut);
    }
  }

  /** Leaves only what this request may reuse; the last token of a prompt is always read, for its logits. */
  async #keepCommonPrefix(place: Place<LlamaContextSequence>, wanted: Wanted): Promise<number> {
    const { holder: sequence } = place;
    const isShared = place.partition === wanted.partition;
    const keep = Math.min(this.#places.common(place, wanted), wanted.prompt.length - 1);
    if (!isShared) {
      // Nobody's, should clearing fail: what another partition left behind would still be there.
      place.partition = undefined;
      if (sequence.nextTokenIndex > 0) await sequence.clearHistory();
      place.partition = wanted.partition;
      return 0;
    }
    if (keep < sequence.nextTokenIndex) {
      await sequence.eraseContextTokenRanges([{ start: keep, end: sequence.nextTokenIndex }]);
    }
    // A model without random access to its state goes back to an earlier checkpoint.
    return sequence.nextTokenIndex;
  }
}
