import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, toApiError } from "../../vault-api/api-client.ts";
import { type LogPageRequest, readLogPage } from "./audit-log.ts";
import type { AuditRecord } from "./audit-record.ts";

export type AuditRecords = {
  readonly items: readonly AuditRecord[];
  readonly state: "loading" | "idle" | "failed";
  readonly error: ApiError | undefined;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
};

type LoadedRecords = Omit<AuditRecords, "hasMore" | "loadMore"> & { readonly nextBefore: number | undefined };

const initialRecords: LoadedRecords = {
  items: [],
  state: "loading",
  error: undefined,
  nextBefore: undefined,
};

/** What is read of a log; the first value counts. */
export type AuditRecordsRequest = Pick<LogPageRequest, "logId" | "types" | "search">;

/** The records of one log, newest first, page by page. */
export function useAuditRecords(given: AuditRecordsRequest): AuditRecords {
  const [read] = useState(given);
  const [records, setRecords] = useState(initialRecords);
  const controller = useRef(new AbortController());
  const load = useCallback(
    (before: number | undefined) => {
      const { signal } = controller.current;
      setRecords((last) => ({ ...last, state: "loading", error: undefined }));
      readLogPage({ ...read, before, signal }).then(
        ({ items, nextBefore }) =>
          setRecords((last) => ({
            items: before === undefined ? items : [...last.items, ...items],
            state: "idle",
            error: undefined,
            nextBefore,
          })),
        (error: unknown) => {
          if (!signal.aborted) setRecords((last) => ({ ...last, state: "failed", error: toApiError(error) }));
        },
      );
    },
    [read],
  );
  useEffect(() => {
    controller.current = new AbortController();
    load(undefined);
    return () => controller.current.abort();
  }, [load]);
  return {
    ...records,
    hasMore: records.nextBefore !== undefined,
    loadMore: () => load(records.nextBefore),
  };
}
