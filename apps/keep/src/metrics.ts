import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";

/** One completed request; `failure` is the kind of a RequestFailure. */
type RequestMeasurements = {
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly failure?: unknown;
};

export type Metrics = {
  readonly countRequest: (request: RequestMeasurements) => void;
  /** Secret values returned to clients, after their audit records are durable. */
  readonly countValuesRead: (values: number) => void;
  /** One commit of the audit log, which batches the records of concurrent reads. */
  readonly countAuditBatch: (records: number, milliseconds: number) => void;
  /** Whether a token was found in this node's cache or looked up in the database. */
  readonly countTokenCheck: (from: "memory" | "database") => void;
  /** A checkpoint that could not be appended to the file outside the database. */
  readonly countCheckpointFailure: () => void;
  /** One check of memberships by this node. */
  readonly countMembershipCheck: (outcome: string) => void;
  /** Gauges, read on each scrape. */
  readonly watch: (sources: GaugeSources) => void;
  /** Prometheus text format. No label contains client data. */
  readonly render: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

type GaugeSources = { readonly [name in keyof typeof gauges]?: () => number | Promise<number> };

const gauges = {
  database_connections_in_use: "Database connections in use",
  database_connections_idle: "Idle database connections",
  database_requests_waiting: "Statements waiting for a database connection",
  data_keys_cached: "Decrypted vault data keys cached on this node",
  revocation_poll_age_seconds: "Time since this node last polled for revocations",
  membership_check_age_seconds: "Time since the last successful check of memberships, on any node",
  operations_running: "Background operations started by requests, on all nodes",
  resident_memory_bytes: "Resident memory of the process",
} as const;

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const batchSizes = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Every counter, gauge and histogram of Keep. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const define: DefineMetric = (name, help) => ({ name: `keep_${name}`, help, registers: [registry] });
  const values = new Counter(define("values_read_total", "Secret values returned to clients"));
  const tokenChecks = new Counter({
    ...define("token_checks_total", "Token checks, from the cache or from the database"),
    labelNames: ["from"],
  });
  const membershipChecks = new Counter({
    ...define("membership_checks_total", "Checks of memberships by this node, by outcome"),
    labelNames: ["outcome"],
  });
  return {
    ...countRequests(define),
    ...countAudit(define),
    countValuesRead: (count) => values.inc(count),
    countTokenCheck: (from) => tokenChecks.inc({ from }),
    countMembershipCheck: (outcome) => membershipChecks.inc({ outcome }),
    watch(sources) {
      for (const [name, help] of Object.entries(gauges)) {
        // Object.entries widens the keys of `gauges` to string.
        const source = sources[name as keyof typeof gauges];
        if (source !== undefined) addGauge(define(name, help), source);
      }
    },
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

type DefineMetric = (name: string, help: string) => MetricDefinition;

function countRequests(define: DefineMetric): Pick<Metrics, "countRequest"> {
  const requests = new Counter({
    ...define("requests_total", "Completed requests; status 499 means that the client disconnected"),
    labelNames: ["route", "status"],
  });
  const duration = new Histogram({
    ...define("request_seconds", "Time from the first byte of a request to the last byte of its response"),
    labelNames: ["route"],
    buckets: seconds,
  });
  const refusals = new Counter({
    ...define("refusals_total", "Rejected and failed requests, by failure"),
    labelNames: ["failure"],
  });
  const rateLimited = new Counter(define("rate_limited_total", "Requests rejected by rate limits"));
  return {
    countRequest({ route, status, durationMilliseconds, failure }) {
      requests.inc({ route, status: String(status) });
      duration.observe({ route }, durationMilliseconds / 1000);
      if (typeof failure === "string") refusals.inc({ failure });
      if (failure === "rate-limited") rateLimited.inc();
    },
  };
}

function countAudit(define: DefineMetric): Pick<Metrics, "countAuditBatch" | "countCheckpointFailure"> {
  const batches = new Histogram({
    ...define("audit_batch_records", "Read records per audit commit"),
    buckets: batchSizes,
  });
  const commits = new Histogram({
    ...define("audit_batch_seconds", "Duration of audit commits"),
    buckets: seconds,
  });
  const checkpointFailures = new Counter(
    define("checkpoint_file_failures_total", "Checkpoints that could not be appended to the checkpoint file"),
  );
  return {
    countAuditBatch(records, milliseconds) {
      batches.observe(records);
      commits.observe(milliseconds / 1000);
    },
    countCheckpointFailure: () => checkpointFailures.inc(),
  };
}

type MetricDefinition = { readonly name: string; readonly help: string; registers: Registry[] };

/** A gauge whose source fails keeps its last value, so that a scrape still returns the others. */
function addGauge(definition: MetricDefinition, source: () => number | Promise<number>): Gauge {
  return new Gauge({
    ...definition,
    async collect() {
      const value = await Promise.resolve(source()).catch(() => undefined);
      if (value !== undefined) this.set(value);
    },
  });
}
