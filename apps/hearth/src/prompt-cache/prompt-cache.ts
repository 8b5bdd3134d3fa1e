import type {
  FoundState,
  OfferedState,
  PromptStore,
  StateOwner,
  StateQuery,
} from "@hearth-and-keep/llama-engine";
import type { StateStorage, StoredState } from "./stored-state.ts";

export type PromptCacheLimits = {
  /** For the states of each API key. */
  readonly maxBytes: number;
  readonly maxTotalBytes: number;
};

/** Of one API key, with any model. */
const maxStates = 64;
const maxTotalStates = 1024;
/** Evaluating fewer tokens takes about as long as restoring them. */
const minSavedTokens = 256;
/** A state is restored as a whole, so at least this share of it must be of use. */
const minUsedShare = 0.25;
/** A state replaces those that have nothing but their last tokens in addition. */
const replacedShare = 0.9;
/** Far above what the description of a state takes, beside its tokens. */
const descriptionBytes = 64 * 1024;

/**
 * States of prompts within limits. A lookup compares only states of the same API key and the same model, so its result
 * and its duration say nothing about others. The least recently used state of a key is deleted first; if all keys
 * together have too many, one of the key with the most.
 */
export class PromptCache implements PromptStore {
  readonly #storage: StateStorage;
  readonly #limits: PromptCacheLimits;
  /** By partition. */
  readonly #states = new Map<string, StoredState[]>();
  #change: Promise<unknown> = Promise.resolve();

  constructor(storage: StateStorage, limits: PromptCacheLimits) {
    this.#storage = storage;
    this.#limits = limits;
  }

  get maxStateBytes(): number {
    return Math.max(0, Math.min(this.#limits.maxBytes, this.#limits.maxTotalBytes) - descriptionBytes);
  }

  /** Adds the states of an earlier process, and deletes those that exceed the limits. */
  async restore(stored: readonly StoredState[]): Promise<void> {
    for (const state of stored) this.#statesOf(state.owner.partition).push(state);
    const partitions = [...this.#states.keys()];
    for (const partition of partitions) await this.#makeRoom(partition, 0);
  }

  async find(owner: StateOwner, { prompt, cachedTokens, file }: StateQuery): Promise<FoundState | undefined> {
    const [best] = this.#statesFor(owner)
      .map((state) => ({ state, common: commonPrefix(state.tokens, prompt) }))
      .filter(({ state, common }) => {
        const saved = common - cachedTokens;
        return saved >= minSavedTokens && saved >= minUsedShare * state.tokens.length;
      })
      .toSorted((a, b) => b.common - a.common);
    if (best === undefined) return undefined;
    const { state } = best;
    if (!(await this.#storage.copy(state, file))) {
      await this.#delete(state);
      return undefined;
    }
    state.usedAt = Date.now();
    await this.#storage.touch(state);
    return { bytes: state.bytes, discard: () => this.#delete(state) };
  }

  /** One state after another, so that the limits hold. */
  keep(owner: StateOwner, state: OfferedState): Promise<void> {
    const change = this.#change.then(() => this.#keep(owner, state));
    this.#change = change.catch(() => undefined);
    return change;
  }

  async #keep(owner: StateOwner, { tokens, bytes, file }: OfferedState): Promise<void> {
    const states = this.#statesFor(owner);
    const longer = states.find((each) => commonPrefix(each.tokens, tokens) === tokens.length);
    if (longer !== undefined) return;
    if (bytes > this.maxStateBytes) return;
    for (const each of states) {
      if (commonPrefix(each.tokens, tokens) >= replacedShare * each.tokens.length) await this.#delete(each);
    }
    await this.#makeRoom(owner.partition, bytes + 4 * tokens.length + descriptionBytes);
    const written = await this.#storage.write({ owner, tokens: Uint32Array.from(tokens), bytes }, file);
    this.#statesOf(owner.partition).push(written);
  }

  async #makeRoom(partition: string, bytes: number): Promise<void> {
    const { maxBytes, maxTotalBytes } = this.#limits;
    const own = this.#statesOf(partition);
    while (own.length > 0 && (own.length > maxStates - 1 || sumBytes(own) + bytes > maxBytes)) {
      await this.#deleteOldest(own);
    }
    const isFull = (): boolean => {
      const all = [...this.#states.values()].flat();
      return all.length > 0 && (all.length > maxTotalStates - 1 || sumBytes(all) + bytes > maxTotalBytes);
    };
    while (isFull()) {
      const [largest = own] = [...this.#states.values()].toSorted((a, b) => sumBytes(b) - sumBytes(a));
      await this.#deleteOldest(largest);
    }
  }

  async #deleteOldest(states: readonly StoredState[]): Promise<void> {
    const [oldest] = states.toSorted((a, b) => a.usedAt - b.usedAt);
    if (oldest !== undefined) await this.#delete(oldest);
  }

  async #delete(state: StoredState): Promise<void> {
    const states = this.#statesOf(state.owner.partition);
    const index = states.indexOf(state);
    if (index >= 0) states.splice(index, 1);
    await this.#storage.delete(state);
  }

  #statesFor({ partition, model }: StateOwner): readonly StoredState[] {
    return this.#statesOf(partition).filter(({ owner }) => owner.model === model);
  }

  #statesOf(partition: string): StoredState[] {
    const states = this.#states.get(partition) ?? [];
    this.#states.set(partition, states);
    return states;
  }
}

function sumBytes(states: readonly StoredState[]): number {
  return states.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
}

function commonPrefix(first: Uint32Array, second: readonly number[]): number {
  const limit = Math.min(first.length, second.length);
  let length = 0;
  while (length < limit && first[length] === second[length]) length += 1;
  return length;
}
