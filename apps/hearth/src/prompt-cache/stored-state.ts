import type { StateOwner } from "@hearth-and-keep/llama-engine";

/** A state of a prompt, apart from its content. */
export type StateDescription = {
  readonly owner: StateOwner;
  /** What it was computed from. */
  readonly tokens: Uint32Array;
  /** The size of its content. */
  readonly bytes: number;
};

export type StoredState = StateDescription & {
  readonly name: string;
  /** What it occupies, including its description. */
  readonly storedBytes: number;
  /** Milliseconds since 1970. */
  usedAt: number;
};

/** Where the content of states is. Descriptors are those of files in memory. */
export type StateStorage = {
  write(state: StateDescription, descriptor: number): Promise<StoredState>;
  /** False if the content is damaged or gone; then the descriptor's file is empty. */
  copy(state: StoredState, descriptor: number): Promise<boolean>;
  /** Records the use of a state. */
  touch(state: StoredState): Promise<void>;
  delete(state: Pick<StoredState, "name">): Promise<void>;
};
