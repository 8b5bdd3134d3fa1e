/** What one look at the server gives. */
export type Sample = {
  /** Seconds. */
  readonly at: number;
  readonly piecesTotal: number;
  readonly requestsTotal: number;
  readonly running: number;
  readonly waiting: number;
  readonly memoryBytes: number;
  readonly loaded: number;
};

const line = /^(?<name>hearth_[a-z_]+)(?:\{[^}]*\})? (?<value>[0-9.e+-]+)$/u;

/** Of Prometheus' text; a name with several labels counts as their sum. */
export function readMetrics(text: string, at: number): Sample {
  const sums = new Map<string, number>();
  for (const written of text.split("\n")) {
    const { name, value } = line.exec(written)?.groups ?? {};
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  const of = (name: string): number => sums.get(`hearth_${name}`) ?? 0;
  return {
    at,
    piecesTotal: of("pieces_total"),
    requestsTotal: of("requests_total"),
    running: of("requests_running"),
    waiting: of("requests_waiting"),
    memoryBytes: of("models_memory_bytes"),
    loaded: of("models_loaded"),
  };
}

/** A point of the charts: what is so now, and what came since the sample before. */
export type Point = Pick<Sample, "at" | "running" | "waiting" | "memoryBytes"> & {
  readonly tokensPerSecond: number;
  readonly requestsPerSecond: number;
};

export function pointBetween(before: Sample, now: Sample): Point {
  const seconds = Math.max(0.1, now.at - before.at);
  // A server that was started anew counts from nothing.
  const rate = (later: number, earlier: number): number => Math.max(0, later - earlier) / seconds;
  return {
    at: now.at,
    running: now.running,
    waiting: now.waiting,
    memoryBytes: now.memoryBytes,
    tokensPerSecond: rate(now.piecesTotal, before.piecesTotal),
    // Our own look is one of them, and the list of loaded models another.
    requestsPerSecond: Math.max(0, rate(now.requestsTotal, before.requestsTotal) - 2 / seconds),
  };
}
