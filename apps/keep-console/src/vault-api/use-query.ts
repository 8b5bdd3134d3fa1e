import { useCallback, useEffect, useState } from "react";
import { ask, KeepProblem } from "./api-client.ts";

export type Loaded<Body> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly problem: KeepProblem }
  /** `isOld`: shown from before, while the newest is on its way. */
  | { readonly state: "there"; readonly body: Body; readonly isOld: boolean };

/** What a path last answered, so that going back shows it at once. Never values: those are not asked for here. */
const remembered = new Map<string, unknown>();
const mostRemembered = 200;
const watchers = new Set<(path: string) => void>();

/** What a path answers, asked anew whenever the screen appears or `changed` says so. Undefined asks nothing. */
export function useAnswer<Body>(path: string | undefined): Loaded<Body> & { readonly reload: () => void } {
  const [turn, setTurn] = useState(0);
  const [loaded, setLoaded] = useState<{ readonly path: string; readonly answer: Loaded<Body> }>();
  const reload = useCallback(() => setTurn((last) => last + 1), []);
  useEffect(() => watch(path, reload), [path, reload]);
  useEffect(() => {
    if (path === undefined) return undefined;
    const end = new AbortController();
    void load<Body>(path, end.signal).then((answer) => {
      if (!end.signal.aborted) setLoaded({ path, answer });
      return undefined;
    });
    return () => end.abort();
  }, [path, turn]);
  if (path === undefined) return { state: "loading", reload };
  if (loaded?.path === path) return { ...loaded.answer, reload };
  if (!remembered.has(path)) return { state: "loading", reload };
  // Only answers to this very path are kept under it.
  const body = remembered.get(path) as Body;
  return { state: "there", body, isOld: true, reload };
}

async function load<Body>(path: string, signal: AbortSignal): Promise<Loaded<Body>> {
  try {
    const { body } = await ask<Body>(path, { signal });
    remember(path, body);
    return { state: "there", body, isOld: false };
  } catch (problem) {
    return { state: "failed", problem: problem instanceof KeepProblem ? problem : unknownProblem() };
  }
}

/** Everything under these paths is asked for again by whoever shows it. */
export function changed(...prefixes: readonly string[]): void {
  for (const path of remembered.keys())
    if (prefixes.some((prefix) => path.startsWith(prefix))) remembered.delete(path);
  for (const watcher of watchers) for (const prefix of prefixes) watcher(prefix);
}

function watch(path: string | undefined, reload: () => void): () => void {
  const watcher = (prefix: string): void => {
    if (path?.startsWith(prefix) === true) reload();
  };
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function remember(path: string, body: unknown): void {
  remembered.delete(path);
  remembered.set(path, body);
  const [oldest] = remembered.keys();
  if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest);
}

function unknownProblem(): KeepProblem {
  return new KeepProblem(0, { title: "Something went wrong on this page", code: "internal" });
}
