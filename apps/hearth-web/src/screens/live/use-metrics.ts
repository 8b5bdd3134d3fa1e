import type { KeyRole } from "@hearth-and-keep/hearth-contract";
import { useEffect, useState } from "react";
import { type RequestError, request, requestText, toRequestError } from "../../server-api/api-client.ts";
import { computePoint, type Point, parseMetrics, type Sample } from "./parse-metrics.ts";

/** An entry of `/api/ps`. */
export type RunningModel = {
  readonly name: string;
  readonly size: number;
  readonly size_vram: number;
  readonly context_length: number;
  readonly expires_at: string;
  /** What protects the server's machine from the model; absent if another machine runs it. */
  readonly protection?: string;
};

export type MetricsState = {
  /** Always undefined for a key for inference. */
  readonly sample: Sample | undefined;
  /** The last two minutes, oldest first. */
  readonly points: readonly Point[];
  readonly loaded: readonly RunningModel[] | undefined;
  readonly error: RequestError | undefined;
};

const intervalMilliseconds = 1000;
const maxPoints = 120;
const initialState: MetricsState = { sample: undefined, points: [], loaded: undefined, error: undefined };

/** Polls what the key may read once a second, except while the tab is hidden or the role of the key is unknown. */
export function useMetrics(role: KeyRole | undefined): MetricsState {
  const [state, setState] = useState<MetricsState>(initialState);
  useEffect(() => {
    if (role === undefined) return undefined;
    const controller = new AbortController();
    setState(initialState);
    void poll(role, controller.signal, setState);
    return () => controller.abort();
  }, [role]);
  return state;
}

type Update = (state: MetricsState) => MetricsState;

async function poll(role: KeyRole, signal: AbortSignal, apply: (update: Update) => void): Promise<void> {
  while (!signal.aborted) {
    if (!document.hidden) {
      const update = await fetchMetrics(role, signal);
      if (!signal.aborted) apply(update);
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMilliseconds));
  }
}

async function fetchMetrics(role: KeyRole, signal: AbortSignal): Promise<Update> {
  try {
    const [text, { models: loaded }] = await Promise.all([
      role === "admin" ? requestText("/metrics", { signal }) : undefined,
      request<{ readonly models: readonly RunningModel[] }>("/api/ps", { signal }),
    ]);
    if (text === undefined) return (state) => ({ ...state, loaded, error: undefined });
    const sample = parseMetrics(text, Date.now() / 1000);
    return ({ sample: previous, points }) => ({
      sample,
      loaded,
      error: undefined,
      points: previous === undefined ? points : [...points, computePoint(previous, sample)].slice(-maxPoints),
    });
  } catch (error) {
    // The charts stay; the next poll may succeed.
    return (state) => ({ ...state, error: toRequestError(error) });
  }
}
