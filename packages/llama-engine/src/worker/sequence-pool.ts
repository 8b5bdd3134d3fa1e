import { type Slot, SlotPool, type SlotRequest } from "@hearth-and-keep/engine-host";
import type { LlamaContextSequence } from "node-llama-cpp";
import { reusableTokens } from "./prefill-prompt.ts";
import type { KeptPrompt, PromptStates } from "./prompt-states.ts";

export type LeasedSequence = Disposable & {
  readonly sequence: LlamaContextSequence;
  /** Its index in the context, which is also its position in a batch. */
  readonly number: number;
  readonly cachedTokens: number;
};

type ChooseSlot = (free: readonly Slot<LlamaContextSequence>[]) => Slot<LlamaContextSequence> | undefined;

/** A shorter prompt is evaluated about as fast as its state is restored. */
const minKeptTokens = 256;
/** How long no request may be running before a state is kept. */
const idleMilliseconds = 2000;

/** Leases the sequences of one context, each trimmed to the cached prefix that the next request may reuse. */
export class SequencePool {
  readonly #slots: SlotPool<LlamaContextSequence>;
  readonly #trims = new Set<Promise<unknown>>();
  readonly #promptStates: PromptStates | undefined;
  /** When each slot was last used before its state was kept. */
  readonly #keptAt = new Map<Slot<LlamaContextSequence>, number>();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(sequences: readonly LlamaContextSequence[], promptStates?: PromptStates) {
    this.#promptStates = promptStates;
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
      if (this.#promptStates !== undefined) await this.#restore(slot, request, this.#promptStates);
      const cachedTokens = await this.#pauseFor(this.#trimToCachedPrefix(slot, request));
      const { resource: sequence, number } = slot;
      return { sequence, number, cachedTokens, [Symbol.dispose]: () => this.#release(slot) };
    } catch (error) {
      this.#slots.release(slot);
      throw error;
    }
  }

  /** Keeps the states of all sequences that are not in use, the latest first. Returns how many. */
  async keepAll(): Promise<number> {
    for (let count = 0; ; count += 1) {
      if (!(await this.#keep((free) => free.findLast((slot) => this.#isUnkept(slot))))) return count;
    }
  }

  async #pauseFor<Value>(change: Promise<Value>): Promise<Value> {
    this.#trims.add(change);
    try {
      return await change;
    } finally {
      this.#trims.delete(change);
    }
  }

  #release(slot: Slot<LlamaContextSequence>): void {
    this.#slots.release(slot);
    if (this.#promptStates === undefined) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => void this.#keepNext(), idleMilliseconds);
  }

  /**
   * Keeps the state that the next new conversation replaces. It happens in advance, so that no request waits while the
   * state of another client is written.
   */
  async #keepNext(): Promise<void> {
    if (!this.#slots.isIdle) return;
    await this.#keep(([oldest]) => (oldest !== undefined && this.#isUnkept(oldest) ? oldest : undefined));
  }

  #isUnkept(slot: Slot<LlamaContextSequence>): boolean {
    const { resource: sequence, partition, usedAt } = slot;
    return (
      partition !== undefined &&
      sequence.nextTokenIndex >= minKeptTokens &&
      !sequence.needsCheckpoints &&
      this.#keptAt.get(slot) !== usedAt
    );
  }

  /** Keeps the state of the slot that is chosen among the free ones. Returns whether there was one. */
  async #keep(choose: ChooseSlot): Promise<boolean> {
    let slot: Slot<LlamaContextSequence> | undefined;
    await this.#promptStates?.keep(async (path) => {
      slot = this.#slots.reserve(choose);
      return slot === undefined ? undefined : this.#save(slot, path);
    });
    return slot !== undefined;
  }

  /** Ends the reservation of the slot, which no request can have while its state is being written. */
  async #save(slot: Slot<LlamaContextSequence>, path: string): Promise<KeptPrompt | undefined> {
    const { resource: sequence, partition = "", usedAt } = slot;
    this.#keptAt.set(slot, usedAt);
    try {
      const tokens = sequence.contextTokens;
      const { fileSize } = await this.#pauseFor(sequence.saveStateToFile(path));
      return { partition, tokens, bytes: fileSize };
    } catch {
      // The state is too large for the file; the prompt will be evaluated again.
      return undefined;
    } finally {
      this.#slots.endReservation(slot);
    }
  }

  /** Replaces what is in the sequence by a state that has more of the prompt, if the server has one. */
  async #restore(
    slot: Slot<LlamaContextSequence>,
    request: SlotRequest,
    promptStates: PromptStates,
  ): Promise<void> {
    const { resource: sequence } = slot;
    const { prompt, partition, signal } = request;
    const cachedTokens = this.#slots.cachedPrefix(slot, request);
    if (prompt.length - cachedTokens <= minKeptTokens || sequence.needsCheckpoints) return;
    const load = async (path: string): Promise<void> => {
      // Until the state is complete, no request may reuse what is in the sequence.
      slot.partition = undefined;
      if (sequence.nextTokenIndex > 0) await sequence.clearHistory();
      await sequence.loadStateFromFile(path, { acceptRisk: true });
      slot.partition = partition;
    };
    await promptStates.restore({ partition, prompt, cachedTokens }, (path) => this.#pauseFor(load(path)));
    signal.throwIfAborted();
  }

  /** Keeps only what the request may reuse. The last token of the prompt is always evaluated, for its logits. */
  async #trimToCachedPrefix(slot: Slot<LlamaContextSequence>, request: SlotRequest): Promise<number> {
    const { resource: sequence } = slot;
    const isSamePartition = slot.partition === request.partition;
    const cached = this.#slots.cachedPrefix(slot, request);
    // A model without random access to its state would lose more than it gains.
    const keep = sequence.needsCheckpoints
      ? Math.min(cached, request.prompt.length - 1)
      : reusableTokens(cached, request.prompt.length);
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
