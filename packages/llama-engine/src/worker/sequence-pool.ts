import { type Slot, SlotPool, type SlotRequest } from "@hearth-and-keep/engine-host";
import type { LlamaContextSequence } from "node-llama-cpp";

export type LeasedSequence = Disposable & {
  readonly sequence: LlamaContextSequence;
  /** Its index in the context, which is also its position in a batch. */
  readonly number: number;
  readonly cachedTokens: number;
};

/** Leases the sequences of one context, each trimmed to the cached prefix that the next request may reuse. */
export class SequencePool {
  readonly #slots: SlotPool<LlamaContextSequence>;
  readonly #trims = new Set<Promise<number>>();

  constructor(sequences: readonly LlamaContextSequence[]) {
    this.#slots = new SlotPool(sequences, {
      cachedTokens: ({ contextTokens }) => contextTokens,
      // Streams in neighbouring sequences are computed together: see share-batch.ts.
      prefersNeighbours: true,
    });
  }

  get freeSequences(): number {
    return this.#slots.freeSlots;
  }

  get waitingRequests(): number {
    return this.#slots.waitingRequests;
  }

  /**
   * Running requests await this before their next token while a sequence is being trimmed. The binding cannot trim while
   * any token is requested, so a new request would otherwise wait until all running ones are complete.
   */
  pendingAdmissions(): Promise<unknown> | undefined {
    // Undefined if there is nothing to await: even a resolved promise would make the request miss the next batch.
    return this.#trims.size > 0 ? Promise.allSettled(this.#trims) : undefined;
  }

  /** Waits for a free sequence and trims it to the cached prefix of the prompt. */
  async acquire(request: SlotRequest): Promise<LeasedSequence> {
    const slot = await this.#slots.acquire(request);
    try {
      request.signal.throwIfAborted();
      const cachedTokens = await this.#trim(slot, request);
      const { resource: sequence, number } = slot;
      return { sequence, number, cachedTokens, [Symbol.dispose]: () => this.#slots.release(slot) };
    } catch (error) {
      this.#slots.release(slot);
      throw error;
    }
  }

  async #trim(slot: Slot<LlamaContextSequence>, request: SlotRequest): Promise<number> {
    const trim = this.#trimToCachedPrefix(slot, request);
    this.#trims.add(trim);
    try {
      return await trim;
    } finally {
      this.#trims.delete(trim);
    }
  }

  /** Keeps only what the request may reuse. The last token of the prompt is always evaluated, for its logits. */
  async #trimToCachedPrefix(slot: Slot<LlamaContextSequence>, request: SlotRequest): Promise<number> {
    const { resource: sequence } = slot;
    const isSamePartition = slot.partition === request.partition;
    const keep = Math.min(this.#slots.cachedPrefix(slot, request), request.prompt.length - 1);
    if (!isSamePartition) {
      // If clearing fails, the other partition's tokens are still there, so no request may reuse this slot's cache.
      slot.partition = undefined;
      if (sequence.nextTokenIndex > 0) await sequence.clearHistory();
      slot.partition = request.partition;
      return 0;
    }
    if (keep < sequence.nextTokenIndex) {
      await sequence.eraseContextTokenRanges([{ start: keep, end: sequence.nextTokenIndex }]);
    }
    // A model without random access to its state is rewound to an earlier checkpoint.
    return sequence.nextTokenIndex;
  }
}
