import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { type GatewaySources, watchForGateways } from "./gateway-metrics.ts";
import type { SchedulingEvent } from "./scheduling/events.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** What one answered request counts for. */
type RequestFigures = {
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly promptTokens?: unknown;
  readonly cachedTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly queueMilliseconds?: unknown;
  readonly firstTokenMilliseconds?: unknown;
};

export type Metrics = {
  countRequest(figures: RequestFigures): void;
  countScheduling(event: SchedulingEvent): void;
  /** One piece of an answer has come; tokens are counted when the answer ends. */
  countPiece(): void;
  /** In Prometheus' text format. No label carries anything a caller wrote. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
};

const seconds = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Every counter and histogram of Hearth, named in one place. */
export function createMetrics(
  scheduler: Pick<Scheduler, "queueLengths" | "running">,
  gateway: Omit<GatewaySources, "scheduler"> = {},
): Metrics {
  const registers = [new Registry()];
  const named = (name: string, help: string) => ({ name: `hearth_${name}`, help, registers });
  const requests = new Counter({
    ...named("requests_total", "Requests answered"),
    labelNames: ["route", "status"],
  });
  const duration = new Histogram({
    ...named("request_seconds", "From the first byte of a request to the last of its answer"),
    labelNames: ["route"],
    buckets: seconds,
  });
  const tokens = new Counter({
    ...named("tokens_total", "Tokens read, found in the cache, and written"),
    labelNames: ["kind"],
  });
  const pieces = new Counter(
    named("pieces_total", "Pieces of answers as they come, about one for each token"),
  );
  const firstToken = new Histogram({
    ...named("first_token_seconds", "Until the first piece of an answer"),
    buckets: seconds,
  });
  const queue = new Histogram({
    ...named("queue_seconds", "Waiting for a place on a model"),
    buckets: seconds,
  });
  const scheduling = new Counter({
    ...named("scheduling_total", "Loads, unloads and refusals"),
    labelNames: ["event", "reason"],
  });
  watchGauges(scheduler, named);
  watchForGateways({ scheduler, ...gateway }, registers);
  return {
    countRequest(figures) {
      requests.inc({ route: figures.route, status: String(figures.status) });
      duration.observe({ route: figures.route }, figures.durationMilliseconds / 1000);
      const kinds = {
        read: figures.promptTokens,
        cached: figures.cachedTokens,
        written: figures.outputTokens,
      };
      for (const [kind, count] of Object.entries(kinds))
        if (typeof count === "number") tokens.inc({ kind }, count);
      observe(firstToken, figures.firstTokenMilliseconds);
      observe(queue, figures.queueMilliseconds);
    },
    countPiece: () => pieces.inc(),
    countScheduling: (event) =>
      scheduling.inc({ event: event.type, reason: "reason" in event ? event.reason : "" }),
    render: async () => ({
      contentType: registers[0]?.contentType ?? "text/plain",
      text: (await registers[0]?.metrics()) ?? "",
    }),
  };
}

function observe(histogram: Histogram, milliseconds: unknown): void {
  if (typeof milliseconds === "number") histogram.observe(milliseconds / 1000);
}

type Named = (name: string, help: string) => { name: string; help: string; registers: Registry[] };

/** What is so at the moment somebody looks. */
function watchGauges(scheduler: Pick<Scheduler, "queueLengths" | "running">, named: Named): void {
  const gauges: readonly (readonly [name: string, help: string, value: () => number])[] = [
    [
      "requests_running",
      "Answers under way",
      () => sum(scheduler.queueLengths().map(({ leases }) => leases)),
    ],
    [
      "requests_waiting",
      "Requests in line",
      () => sum(scheduler.queueLengths().map(({ waiting }) => waiting)),
    ],
    ["models_loaded", "Models in memory", () => scheduler.running().length],
    [
      "models_memory_bytes",
      "Memory counted for them",
      () => sum(scheduler.running().map(({ memoryBytes }) => memoryBytes)),
    ],
  ];
  for (const [name, help, value] of gauges) addGauge(named(name, help), value);
}

function addGauge(place: ReturnType<Named>, value: () => number): Gauge {
  return new Gauge({
    ...place,
    collect() {
      this.set(value());
    },
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
