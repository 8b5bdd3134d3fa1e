/**
 * @module
 * State that outlives a screen: models, running pulls, conversations and responses that are being streamed. Work
 * continues while another screen is shown. Conversations are stored in this browser only, up to a limit.
 * Imported by the shell and by screens.
 */
import { useSyncExternalStore } from "react";

export type Store<Value> = {
  readonly get: () => Value;
  readonly set: (change: (value: Value) => Value) => void;
  readonly subscribe: (listener: () => void) => () => void;
};

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (change) => {
      value = change(value);
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Subscribes a component to a part of a store. `pick` must return the same object for the same value. */
export function useStore<Value, Picked = Value>(
  store: Store<Value>,
  // Without `pick`, Picked is Value.
  pick: (value: Value) => Picked = (value) => value as unknown as Picked,
): Picked {
  return useSyncExternalStore(store.subscribe, () => pick(store.get()));
}
