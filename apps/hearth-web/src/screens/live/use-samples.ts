import { useEffect, useState } from "react";
import { ask, askText, asProblem, type ServerProblem } from "../../server-api/api-client.ts";
import { type Point, pointBetween, readMetrics, type Sample } from "./read-metrics.ts";

export type RunningModel = {
  readonly name: string;
  readonly size: number;
  readonly size_vram: number;
  readonly context_length: number;
  readonly expires_at: string;
};

export type Seen = {
  readonly sample: Sample | undefined;
  /** The last two minutes, the oldest first. */
  readonly points: readonly Point[];
  readonly loaded: readonly RunningModel[];
  readonly problem: ServerProblem | undefined;
};

const everyMilliseconds = 1000;
const mostPoints = 120;
const nothing: Seen = { sample: undefined, points: [], loaded: [], problem: undefined };

/** Looks once a second, while somebody can see it. */
export function useSamples(): Seen {
  const [seen, setSeen] = useState<Seen>(nothing);
  useEffect(() => {
    const end = new AbortController();
    void watch(end.signal, setSeen);
    return () => end.abort();
  }, []);
  return seen;
}

async function watch(signal: AbortSignal, show: (change: (seen: Seen) => Seen) => void): Promise<void> {
  while (!signal.aborted) {
    if (!document.hidden) {
      const change = await look(signal);
      if (!signal.aborted) show(change);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMilliseconds));
  }
}

async function look(signal: AbortSignal): Promise<(seen: Seen) => Seen> {
  try {
    const [text, { models: loaded }] = await Promise.all([
      askText("/metrics", { signal }),
      ask<{ readonly models: readonly RunningModel[] }>("/api/ps", { signal }),
    ]);
    const sample = readMetrics(text, Date.now() / 1000);
    return ({ sample: before, points }) => ({
      sample,
      loaded,
      problem: undefined,
      points: before === undefined ? points : [...points, pointBetween(before, sample)].slice(-mostPoints),
    });
  } catch (thrown) {
    // What was seen stays; the next look may succeed.
    return (seen) => ({ ...seen, problem: asProblem(thrown) });
  }
}
