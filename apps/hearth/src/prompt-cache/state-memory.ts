import { randomUUID } from "node:crypto";
import { ftruncateSync, readSync, writeSync } from "node:fs";
import type { StateDescription, StateStorage, StoredState } from "./stored-state.ts";

/** Content of states in the server's memory: they survive the process of their model, but not the server. */
export class StateMemory implements StateStorage {
  readonly #contents = new Map<string, Buffer>();

  write(state: StateDescription, descriptor: number): Promise<StoredState> {
    const content = Buffer.allocUnsafe(state.bytes);
    if (readSync(descriptor, content, 0, state.bytes, 0) < state.bytes) {
      return Promise.reject(new Error("The state is shorter than announced"));
    }
    const name = randomUUID();
    this.#contents.set(name, content);
    const storedBytes = state.bytes + state.tokens.byteLength;
    return Promise.resolve({ ...state, name, storedBytes, usedAt: Date.now() });
  }

  copy({ name }: StoredState, descriptor: number): Promise<boolean> {
    const content = this.#contents.get(name);
    ftruncateSync(descriptor, 0);
    if (content !== undefined) writeSync(descriptor, content, 0, content.length, 0);
    return Promise.resolve(content !== undefined);
  }

  touch(): Promise<void> {
    return Promise.resolve();
  }

  delete({ name }: Pick<StoredState, "name">): Promise<void> {
    this.#contents.delete(name);
    return Promise.resolve();
  }
}
