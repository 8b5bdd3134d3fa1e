/** The values of one `/metrics` response. */
export type Sample = {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly outputChunksTotal: number;
  readonly requestsTotal: number;
  readonly active: number;
  readonly queued: number;
  readonly memoryBytes: number;
  readonly loaded: number;
};

const line = /^(?<name>hearth_[a-z_]+)(?:\{[^}]*\})? (?<value>[0-9.e+-]+)$/u;

/** Parses the Prometheus text format; series of one metric are summed over their labels. */
export function parseMetrics(text: string, at: number): Sample {
  const sums = new Map<string, number>();
  for (const row of text.split("\n")) {
    const { name, value } = line.exec(row)?.groups ?? {};
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  const sumOf = (name: string): number => sums.get(`hearth_${name}`) ?? 0;
  return {
    at,
    outputChunksTotal: sumOf("output_chunks_total"),
    requestsTotal: sumOf("requests_total"),
    active: sumOf("requests_running"),
    queued: sumOf("requests_waiting"),
    memoryBytes: sumOf("models_memory_bytes"),
    loaded: sumOf("models_loaded"),
  };
}

/** A point of the charts: current gauges, and rates since the previous sample. */
export type Point = Pick<Sample, "at" | "active" | "queued" | "memoryBytes"> & {
  readonly tokensPerSecond: number;
  readonly requestsPerSecond: number;
};

export function computePoint(previous: Sample, current: Sample): Point {
  const seconds = Math.max(0.1, current.at - previous.at);
  // The counters of a restarted server start at zero.
  const rate = (later: number, earlier: number): number => Math.max(0, later - earlier) / seconds;
  return {
    at: current.at,
    active: current.active,
    queued: current.queued,
    memoryBytes: current.memoryBytes,
    tokensPerSecond: rate(current.outputChunksTotal, previous.outputChunksTotal),
    // Minus this page's own requests, for the metrics and for the loaded models.
    requestsPerSecond: Math.max(0, rate(current.requestsTotal, previous.requestsTotal) - 2 / seconds),
  };
}
