/**
 * @module
 * What the page knows, outside of what it draws: the models, downloads under way, conversations and the answers that
 * come at this moment. Promises that work goes on while another screen is shown, and that conversations are kept in
 * this browser alone, within bounds.
 * Imported by the shell and by screens.
 */
import { useSyncExternalStore } from "react";

export type Store<Value> = {
  readonly get: () => Value;
  readonly set: (change: (value: Value) => Value) => void;
  readonly subscribe: (listener: () => void) => () => void;
};

export function createStore<Value>(first: Value): Store<Value> {
  let value = first;
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

/** What of a store a part draws; it is drawn again when that changes. `pick` gives the same object for the same value. */
export function useStore<Value, Picked = Value>(
  store: Store<Value>,
  // Without a choice it is the whole.
  pick: (value: Value) => Picked = (value) => value as unknown as Picked,
): Picked {
  return useSyncExternalStore(store.subscribe, () => pick(store.get()));
}
