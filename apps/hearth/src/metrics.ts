import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { type GatewaySources, registerGatewayMetrics } from "./gateway-metrics.ts";
import type { SchedulingEvent } from "./scheduling/events.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** Measurements of one finished request. */
type RequestMetrics = {
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly promptTokens?: unknown;
  readonly cachedTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly guessedTokens?: unknown;
  readonly acceptedTokens?: unknown;
  readonly queueMilliseconds?: unknown;
  readonly firstTokenMilliseconds?: unknown;
};

export type Metrics = {
  countRequest(request: RequestMetrics): void;
  countScheduling(event: SchedulingEvent): void;
  /** Counts one chunk of output as it is generated; tokens are counted when the generation ends. */
  countOutputChunk(): void;
  /** In the Prometheus text format. No label contains client input. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
};

const secondsBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** All counters, histograms and gauges of Hearth. */
export function createMetrics(
  scheduler: Pick<Scheduler, "queueLengths" | "running">,
  gateway: Omit<GatewaySources, "scheduler"> = {},
): Metrics {
  const registers = [new Registry()];
  const named = (name: string, help: string) => ({ name: `hearth_${name}`, help, registers });
  const requests = new Counter({
    ...named("requests_total", "Finished requests"),
    labelNames: ["route", "status"],
  });
  const duration = new Histogram({
    ...named("request_seconds", "Time from the first byte of a request to the last byte of its response"),
    labelNames: ["route"],
    buckets: secondsBuckets,
  });
  const tokens = new Counter({
    ...named(
      "tokens_total",
      "Prompt tokens processed, prompt tokens found in the cache, output tokens generated, tokens guessed ahead, and guesses the model accepted",
    ),
    labelNames: ["kind"],
  });
  const outputChunks = new Counter(
    named("output_chunks_total", "Chunks of output as they are generated, about one per token"),
  );
  const firstToken = new Histogram({
    ...named("first_token_seconds", "Time to first token"),
    buckets: secondsBuckets,
  });
  const queue = new Histogram({
    ...named("queue_seconds", "Time spent in the queue of a model"),
    buckets: secondsBuckets,
  });
  const scheduling = new Counter({
    ...named("scheduling_total", "Model loads, unloads and rejected requests"),
    labelNames: ["event", "reason"],
  });
  registerGauges(scheduler, named);
  registerGatewayMetrics({ scheduler, ...gateway }, registers);
  return {
    countRequest(request) {
      requests.inc({ route: request.route, status: String(request.status) });
      duration.observe({ route: request.route }, request.durationMilliseconds / 1000);
      countTokens(tokens, request);
      observe(firstToken, request.firstTokenMilliseconds);
      observe(queue, request.queueMilliseconds);
    },
    countOutputChunk: () => outputChunks.inc(),
    countScheduling: (event) =>
      scheduling.inc({ event: event.type, reason: "reason" in event ? event.reason : "" }),
    render: async () => ({
      contentType: registers[0]?.contentType ?? "text/plain",
      text: (await registers[0]?.metrics()) ?? "",
    }),
  };
}

function countTokens(
  counter: Counter<"kind">,
  { promptTokens, cachedTokens, outputTokens, guessedTokens, acceptedTokens }: RequestMetrics,
): void {
  for (const [kind, count] of Object.entries({
    prompt: promptTokens,
    cached: cachedTokens,
    output: outputTokens,
    guessed: guessedTokens,
    accepted: acceptedTokens,
  }))
    if (typeof count === "number") counter.inc({ kind }, count);
}

function observe(histogram: Histogram, milliseconds: unknown): void {
  if (typeof milliseconds === "number") histogram.observe(milliseconds / 1000);
}

type Named = (name: string, help: string) => { name: string; help: string; registers: Registry[] };

/** Gauges that are read from the scheduler on each scrape. */
function registerGauges(scheduler: Pick<Scheduler, "queueLengths" | "running">, named: Named): void {
  const gauges: readonly (readonly [name: string, help: string, value: () => number])[] = [
    [
      "requests_running",
      "Requests being processed",
      () => sum(scheduler.queueLengths().map(({ leases }) => leases)),
    ],
    [
      "requests_waiting",
      "Requests in a queue",
      () => sum(scheduler.queueLengths().map(({ waiting }) => waiting)),
    ],
    ["models_loaded", "Models loaded in memory", () => scheduler.running().length],
    [
      "models_memory_bytes",
      "Memory used by loaded models",
      () => sum(scheduler.running().map(({ memoryBytes }) => memoryBytes)),
    ],
    [
      "models_peak_memory_bytes",
      "Most memory that the processes of loaded models have used, as measured",
      () => sum(scheduler.running().map(({ description }) => description.measuredMemory?.peakBytes ?? 0)),
    ],
  ];
  for (const [name, help, value] of gauges) addGauge(named(name, help), value);
}

function addGauge(definition: ReturnType<Named>, value: () => number): Gauge {
  return new Gauge({
    ...definition,
    collect() {
      this.set(value());
    },
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
