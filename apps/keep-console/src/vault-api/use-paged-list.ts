import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, request, toApiError } from "./api-client.ts";

export type PagedList<Item> = {
  readonly state: "loading" | "failed" | "loaded";
  readonly error: ApiError | undefined;
  readonly items: readonly Item[];
  /** Items of the previous path, while the current one loads. */
  readonly isStale: boolean;
  readonly hasMore: boolean;
  /** Loads the next page, unless a page is already loading. */
  readonly loadMore: () => void;
  /** Loads as many items again as were loaded before, so that the scroll position stays. */
  readonly reload: () => void;
  readonly update: (update: (items: readonly Item[]) => readonly Item[]) => void;
};

type Page<Item> = { readonly items: readonly Item[]; readonly next_cursor?: string };
type ListState<Item> = {
  readonly path: string | undefined;
  readonly items: readonly Item[];
  readonly cursor: string | undefined;
  readonly error: ApiError | undefined;
};

const firstPageSize = 100;
const nextPageSize = 200;
const initialState = { path: undefined, items: [], cursor: undefined, error: undefined };

/** A long list that is loaded page by page through `loadMore`. An undefined path loads nothing. */
export function usePagedList<Item>(path: string | undefined): PagedList<Item> {
  const [listState, setListState] = useState<ListState<Item>>(initialState);
  const [reloadCount, setReloadCount] = useState(0);
  // A ref beside the state, updated at once: a cursor must not be used twice before the next render.
  const latest = useRef<ListState<Item>>(initialState);
  const setState = useCallback((next: ListState<Item>) => {
    latest.current = next;
    setListState(next);
  }, []);
  const isLoading = useRef(false);
  useEffect(() => {
    if (path === undefined) return undefined;
    const controller = new AbortController();
    isLoading.current = true;
    const minItems = latest.current.path === path ? latest.current.items.length : 0;
    const load = async (): Promise<void> => {
      const next = await readPages<Item>(path, { minItems, signal: controller.signal });
      if (controller.signal.aborted) return;
      isLoading.current = false;
      setState(next);
    };
    void load();
    return () => controller.abort();
  }, [path, reloadCount, setState]);
  const loadMore = useCallback(() => {
    const { path: loadedPath, cursor } = latest.current;
    if (isLoading.current || loadedPath === undefined || cursor === undefined) return;
    isLoading.current = true;
    const loadNext = async (): Promise<void> => {
      const next = await readPages<Item>(loadedPath, { cursor, minItems: 0 });
      // Another path or a reload may have replaced the list in the meantime.
      if (latest.current.path !== loadedPath || latest.current.cursor !== cursor) return;
      isLoading.current = false;
      setState({ ...next, items: [...latest.current.items, ...next.items] });
    };
    void loadNext();
  }, [setState]);
  const reload = useCallback(() => setReloadCount((last) => last + 1), []);
  const update = useCallback(
    (change: (items: readonly Item[]) => readonly Item[]) =>
      setState({ ...latest.current, items: change(latest.current.items) }),
    [setState],
  );
  return { ...describeState(listState, path), loadMore, reload, update };
}

function describeState<Item>(listState: ListState<Item>, path: string | undefined) {
  const isCurrent = listState.path === path && path !== undefined;
  const isFailed = isCurrent && listState.error !== undefined && listState.items.length === 0;
  return {
    state: isFailed ? "failed" : listState.path === undefined ? "loading" : "loaded",
    error: listState.error,
    items: listState.items,
    isStale: !isCurrent,
    hasMore: listState.cursor !== undefined,
  } as const;
}

type ReadOptions = { readonly minItems: number; readonly cursor?: string; readonly signal?: AbortSignal };

async function readPages<Item>(path: string, options: ReadOptions): Promise<ListState<Item>> {
  const { minItems, cursor, signal } = options;
  const items: Item[] = [];
  let next = cursor;
  try {
    do {
      const limit = next === undefined && minItems <= firstPageSize ? firstPageSize : nextPageSize;
      const cursorParameter = next === undefined ? "" : `&cursor=${encodeURIComponent(next)}`;
      const { body } = await request<Page<Item>>(
        `${path}${path.includes("?") ? "&" : "?"}limit=${limit}${cursorParameter}`,
        signal === undefined ? {} : { signal },
      );
      items.push(...body.items);
      next = body.next_cursor;
    } while (next !== undefined && items.length < minItems);
    return { path, items, cursor: next, error: undefined };
  } catch (error) {
    return { path, items, cursor: next, error: toApiError(error) };
  }
}
