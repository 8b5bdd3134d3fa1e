import { useCallback, useEffect, useRef, useState } from "react";
import { KeepProblem } from "../../vault-api/api-client.ts";
import { readStretch } from "./audit-log.ts";
import type { AuditRecord, LogPlace } from "./audit-record.ts";

export type AuditRecords = {
  readonly items: readonly AuditRecord[];
  readonly state: "loading" | "idle" | "failed";
  readonly problem: KeepProblem | undefined;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
};

type Held = Omit<AuditRecords, "hasMore" | "loadMore"> & { readonly nextBefore: number | undefined };

const nothing: Held = { items: [], state: "loading", problem: undefined, nextBefore: undefined };

/** A log from its end on, more of it whenever it is asked for. Whoever uses it for another log makes it anew. */
export function useAuditRecords(place: LogPlace, types: readonly string[]): AuditRecords {
  const [held, setHeld] = useState(nothing);
  const end = useRef(new AbortController());
  const load = useCallback(
    (before: number | undefined) => {
      const { signal } = end.current;
      setHeld((last) => ({ ...last, state: "loading", problem: undefined }));
      readStretch({ place, types, before, signal }).then(
        ({ items, nextBefore }) =>
          setHeld((last) => ({
            items: before === undefined ? items : [...last.items, ...items],
            state: "idle",
            problem: undefined,
            nextBefore,
          })),
        (problem: unknown) => {
          if (!signal.aborted) setHeld((last) => ({ ...last, state: "failed", problem: known(problem) }));
        },
      );
    },
    [place, types],
  );
  useEffect(() => {
    end.current = new AbortController();
    load(undefined);
    return () => end.current.abort();
  }, [load]);
  return {
    ...held,
    hasMore: held.nextBefore !== undefined,
    loadMore: () => load(held.nextBefore),
  };
}

function known(problem: unknown): KeepProblem {
  if (problem instanceof KeepProblem) return problem;
  return new KeepProblem(0, { title: "Something went wrong on this page", code: "internal" });
}
