import { useCallback, useMemo, useRef, useState } from "react";
import type { ListEntry } from "./list-row.tsx";
import { listKeyOf, type SecretsLocation } from "./secrets-location.ts";

export type Selection = {
  /** In the order of the list. */
  readonly entries: readonly ListEntry[];
  readonly keys: ReadonlySet<string>;
  /** With `isRange`, also changes the rows between it and the one changed before. */
  readonly toggle: (index: number, isRange: boolean) => void;
  /** Selects all loaded rows, or none if all are selected. */
  readonly toggleAll: () => void;
  readonly clear: () => void;
};

type SelectionState = {
  /** The list it belongs to: another one begins with none. */
  readonly list: string;
  readonly keys: ReadonlySet<string>;
  /** The row changed last. */
  readonly anchor: string | undefined;
};

/** The selected rows of the list at a location. Rows that are gone are no longer selected. */
export function useSelection(location: SecretsLocation, entries: readonly ListEntry[]): Selection {
  const list = listKeyOf(location);
  const [last, setState] = useState<SelectionState>();
  const state = last?.list === list ? last : undefined;
  const selected = useMemo(
    () => entries.filter(({ key }) => state?.keys.has(key) === true),
    [entries, state],
  );
  const keys = useMemo(() => new Set(selected.map(({ key }) => key)), [selected]);
  const latest = useRef({ list, entries, keys, anchor: state?.anchor });
  latest.current = { list, entries, keys, anchor: state?.anchor };
  const toggle = useCallback((index: number, isRange: boolean) => {
    const { list: current, entries: rows, keys: before, anchor } = latest.current;
    const key = rows[index]?.key;
    if (key === undefined) return;
    const from = isRange ? rows.findIndex((row) => row.key === anchor) : -1;
    const [first, end] = [Math.min(from === -1 ? index : from, index), Math.max(from, index) + 1];
    const changed = rows.slice(first, end).map((row) => row.key);
    const next = before.has(key)
      ? [...before].filter((each) => !changed.includes(each))
      : [...before, ...changed];
    setState({ list: current, keys: new Set(next), anchor: key });
  }, []);
  const toggleAll = useCallback(() => {
    const { list: current, entries: rows, keys: before } = latest.current;
    const next = before.size === rows.length ? [] : rows.map(({ key }) => key);
    setState({ list: current, keys: new Set(next), anchor: undefined });
  }, []);
  const clear = useCallback(() => setState(undefined), []);
  return { entries: selected, keys, toggle, toggleAll, clear };
}
