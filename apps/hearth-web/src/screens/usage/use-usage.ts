import { useEffect, useState } from "react";
import { type RequestError, request, toRequestError } from "../../server-api/api-client.ts";
import { bucketStarts, type Period, rowsByBucket, usageQuery } from "./usage-period.ts";
import type { UsageReport, UsageRow } from "./usage-report.ts";

export type Usage = {
  readonly period: Period;
  /** As in the request. */
  readonly query: string;
  readonly isRecorded: boolean;
  readonly buckets: ReadonlyMap<number, readonly UsageRow[]>;
};

export type UsageState =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: RequestError; readonly retry: () => void }
  | { readonly state: "loaded"; readonly usage: Usage };

/** Requests the usage of a period when it is chosen. */
export function useUsage(period: Period): UsageState {
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<UsageState>({ state: "loading" });
  useEffect(() => {
    const retry = (): void => setAttempt((count) => count + 1);
    const controller = new AbortController();
    setState({ state: "loading" });
    fetchUsage(period, controller.signal).then(
      (usage) => setState({ state: "loaded", usage }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState({ state: "failed", error: toRequestError(error), retry });
      },
    );
    return () => controller.abort();
  }, [period, attempt]);
  return state;
}

async function fetchUsage(period: Period, signal: AbortSignal): Promise<Usage> {
  const now = Date.now();
  const query = usageQuery(period, now);
  const { ledger, rows } = await request<UsageReport>(`/api/usage?${query}`, { signal });
  const buckets = rowsByBucket(rows, period, bucketStarts(period, now));
  return { period, query, isRecorded: ledger === "on", buckets };
}
