import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, toApiError } from "../../vault-api/api-client.ts";
import { readLogPage } from "./audit-log.ts";
import type { AuditRecord, LogId } from "./audit-record.ts";

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

/** The records of one log, newest first, page by page. To show another log, mount it again under another key. */
export function useAuditRecords(logId: LogId, types: readonly string[]): AuditRecords {
  const [records, setRecords] = useState(initialRecords);
  const controller = useRef(new AbortController());
  const load = useCallback(
    (before: number | undefined) => {
      const { signal } = controller.current;
      setRecords((last) => ({ ...last, state: "loading", error: undefined }));
      readLogPage({ logId, types, before, signal }).then(
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
    [logId, types],
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
