import { useCallback, useEffect, useState } from "react";
import { type ApiError, request, toApiError } from "./api-client.ts";

export type QueryResult<Body> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: ApiError }
  /** `isStale`: from the cache, while the current response is on its way. */
  | { readonly state: "loaded"; readonly body: Body; readonly isStale: boolean };

/** The last response of each path, so that going back shows it at once. Secret values are never queried through here. */
const cachedBodies = new Map<string, unknown>();
const maxCachedBodies = 200;
const invalidationListeners = new Set<(path: string) => void>();

/** Fetches a path when the component mounts and whenever `invalidate` covers it. An undefined path fetches nothing. */
export function useQuery<Body>(
  path: string | undefined,
): QueryResult<Body> & { readonly reload: () => void } {
  const [reloadCount, setReloadCount] = useState(0);
  const [latest, setLatest] = useState<{ readonly path: string; readonly result: QueryResult<Body> }>();
  const reload = useCallback(() => setReloadCount((last) => last + 1), []);
  useEffect(() => onInvalidate(path, reload), [path, reload]);
  useEffect(() => {
    if (path === undefined) return undefined;
    const controller = new AbortController();
    void load<Body>(path, controller.signal).then((result) => {
      if (!controller.signal.aborted) setLatest({ path, result });
      return undefined;
    });
    return () => controller.abort();
  }, [path, reloadCount]);
  if (path === undefined) return { state: "loading", reload };
  if (latest?.path === path) return { ...latest.result, reload };
  if (!cachedBodies.has(path)) return { state: "loading", reload };
  // Only responses of this very path are cached under it.
  const body = cachedBodies.get(path) as Body;
  return { state: "loaded", body, isStale: true, reload };
}

async function load<Body>(path: string, signal: AbortSignal): Promise<QueryResult<Body>> {
  try {
    const { body } = await request<Body>(path, { signal });
    cacheBody(path, body);
    return { state: "loaded", body, isStale: false };
  } catch (error) {
    return { state: "failed", error: toApiError(error) };
  }
}

/** Drops cached responses under these path prefixes; mounted components fetch them again. */
export function invalidate(...prefixes: readonly string[]): void {
  for (const path of cachedBodies.keys())
    if (prefixes.some((prefix) => path.startsWith(prefix))) cachedBodies.delete(path);
  for (const listener of invalidationListeners) for (const prefix of prefixes) listener(prefix);
}

/** Calls back whenever `invalidate` covers the path. Returns how to stop. */
export function onInvalidate(path: string | undefined, reload: () => void): () => void {
  const listener = (prefix: string): void => {
    if (path?.startsWith(prefix) === true) reload();
  };
  invalidationListeners.add(listener);
  return () => invalidationListeners.delete(listener);
}

function cacheBody(path: string, body: unknown): void {
  cachedBodies.delete(path);
  cachedBodies.set(path, body);
  const [oldest] = cachedBodies.keys();
  if (cachedBodies.size > maxCachedBodies && oldest !== undefined) cachedBodies.delete(oldest);
}
