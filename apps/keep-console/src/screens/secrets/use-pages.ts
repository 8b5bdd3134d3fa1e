import { useCallback, useEffect, useRef, useState } from "react";
import { ask, type KeepProblem } from "../../vault-api/api-client.ts";
import { asKeepProblem } from "../../vault-api/use-mutation.ts";

export type Pages<Item> = {
  readonly state: "loading" | "failed" | "there";
  readonly problem: KeepProblem | undefined;
  readonly items: readonly Item[];
  /** Shown from before, while what is asked for now is on its way. */
  readonly isOld: boolean;
  readonly hasMore: boolean;
  /** The next page, unless it is on its way. */
  readonly more: () => void;
  /** Asks anew for as many as were there, so that nothing moves. */
  readonly reload: () => void;
  readonly change: (update: (items: readonly Item[]) => readonly Item[]) => void;
};

type Page<Item> = { readonly items: readonly Item[]; readonly next_cursor?: string };
type Held<Item> = {
  readonly path: string | undefined;
  readonly items: readonly Item[];
  readonly cursor: string | undefined;
  readonly problem: KeepProblem | undefined;
};

const firstPage = 100;
const laterPages = 200;
const nothing = { path: undefined, items: [], cursor: undefined, problem: undefined };

/** A long list that comes in pages, the next one when `more` is called. An undefined path asks for nothing. */
export function usePages<Item>(path: string | undefined): Pages<Item> {
  const [held, setHeld] = useState<Held<Item>>(nothing);
  const [turn, setTurn] = useState(0);
  // Known at once, not with the next drawing: a cursor that was used must not be asked for again.
  const latest = useRef<Held<Item>>(nothing);
  const settle = useCallback((next: Held<Item>) => {
    latest.current = next;
    setHeld(next);
  }, []);
  const isAsking = useRef(false);
  useEffect(() => {
    if (path === undefined) return undefined;
    const end = new AbortController();
    isAsking.current = true;
    const wanted = latest.current.path === path ? latest.current.items.length : 0;
    const begin = async (): Promise<void> => {
      const next = await readPages<Item>(path, { wanted, signal: end.signal });
      if (end.signal.aborted) return;
      isAsking.current = false;
      settle(next);
    };
    void begin();
    return () => end.abort();
  }, [path, turn, settle]);
  const more = useCallback(() => {
    const { path: from, cursor } = latest.current;
    if (isAsking.current || from === undefined || cursor === undefined) return;
    isAsking.current = true;
    const goOn = async (): Promise<void> => {
      const next = await readPages<Item>(from, { cursor, wanted: 0 });
      // Something else may have been asked for in the meantime.
      if (latest.current.path !== from || latest.current.cursor !== cursor) return;
      isAsking.current = false;
      settle({ ...next, items: [...latest.current.items, ...next.items] });
    };
    void goOn();
  }, [settle]);
  const reload = useCallback(() => setTurn((last) => last + 1), []);
  const change = useCallback(
    (update: (items: readonly Item[]) => readonly Item[]) =>
      settle({ ...latest.current, items: update(latest.current.items) }),
    [settle],
  );
  return { ...stateOf(held, path), more, reload, change };
}

function stateOf<Item>(held: Held<Item>, path: string | undefined) {
  const isHere = held.path === path && path !== undefined;
  const isFailed = isHere && held.problem !== undefined && held.items.length === 0;
  return {
    state: isFailed ? "failed" : held.path === undefined ? "loading" : "there",
    problem: held.problem,
    items: held.items,
    isOld: !isHere,
    hasMore: held.cursor !== undefined,
  } as const;
}

type Wanted = { readonly wanted: number; readonly cursor?: string; readonly signal?: AbortSignal };

async function readPages<Item>(path: string, { wanted, cursor, signal }: Wanted): Promise<Held<Item>> {
  const items: Item[] = [];
  let next = cursor;
  try {
    do {
      const limit = next === undefined && wanted <= firstPage ? firstPage : laterPages;
      const from = next === undefined ? "" : `&cursor=${encodeURIComponent(next)}`;
      const { body } = await ask<Page<Item>>(
        `${path}${path.includes("?") ? "&" : "?"}limit=${limit}${from}`,
        signal === undefined ? {} : { signal },
      );
      items.push(...body.items);
      next = body.next_cursor;
    } while (next !== undefined && items.length < wanted);
    return { path, items, cursor: next, problem: undefined };
  } catch (thrown) {
    return { path, items, cursor: next, problem: asKeepProblem(thrown) };
  }
}
