import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";

/** What one answered request counts for; the failure is a kind of ours, or absent. */
type RequestFigures = {
  readonly route: string;
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly failure?: unknown;
};

export type Metrics = {
  readonly countRequest: (figures: RequestFigures) => void;
  /** Reads whose record is durable, and how many values left with each. */
  readonly countValuesRead: (values: number) => void;
  /** One commit of the audit log, with as many records of reads as came together. */
  readonly countAuditBatch: (records: number, milliseconds: number) => void;
  /** Whether a token was known on this node, or the database had to be asked. */
  readonly countTokenCheck: (from: "memory" | "database") => void;
  /** A checkpoint of the audit log that could not be kept apart from the database. */
  readonly countCheckpointFailure: () => void;
  /** What is so at the moment somebody looks. */
  readonly watch: (sources: GaugeSources) => void;
  /** In Prometheus' text format. No label carries anything a caller wrote. */
  readonly render: () => Promise<{ readonly contentType: string; readonly text: string }>;
};

type GaugeSources = { readonly [name in keyof typeof gauges]?: () => number | Promise<number> };

const gauges = {
  database_connections_in_use: "Connections to the database that work",
  database_connections_idle: "Connections to the database that wait for work",
  database_requests_waiting: "Statements that wait for a connection",
  data_keys_remembered: "Data keys of vaults that this node has unwrapped",
  revocation_poll_age_seconds: "Since this node last learned what was revoked",
  operations_running: "Work that goes on after its request was answered, on all nodes",
  resident_memory_bytes: "Memory of this process",
} as const;

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const batchSizes = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Every counter, gauge and histogram of Keep, named in one file. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const named: Named = (name, help) => ({ name: `keep_${name}`, help, registers: [registry] });
  const values = new Counter(
    named("values_read_total", "Values of secrets given out, each after its record"),
  );
  const tokenChecks = new Counter({
    ...named("token_checks_total", "Tokens checked, from memory or from the database"),
    labelNames: ["from"],
  });
  return {
    ...countRequests(named),
    ...countAudit(named),
    countValuesRead: (count) => values.inc(count),
    countTokenCheck: (from) => tokenChecks.inc({ from }),
    watch(sources) {
      for (const [name, help] of Object.entries(gauges)) {
        // The keys of the table above are the names.
        const source = sources[name as keyof typeof gauges];
        if (source !== undefined) addGauge(named(name, help), source);
      }
    },
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

type Named = (name: string, help: string) => Place;

function countRequests(named: Named): Pick<Metrics, "countRequest"> {
  const requests = new Counter({
    ...named("requests_total", "Requests answered; the status 499 is a caller who hung up"),
    labelNames: ["route", "status"],
  });
  const duration = new Histogram({
    ...named("request_seconds", "From the first byte of a request to the last of its answer"),
    labelNames: ["route"],
    buckets: seconds,
  });
  const refusals = new Counter({
    ...named("refusals_total", "Requests that were refused or failed, by what was the matter"),
    labelNames: ["failure"],
  });
  const rateLimited = new Counter(
    named("rate_limited_total", "Requests refused because there were too many"),
  );
  return {
    countRequest({ route, status, durationMilliseconds, failure }) {
      requests.inc({ route, status: String(status) });
      duration.observe({ route }, durationMilliseconds / 1000);
      if (typeof failure === "string") refusals.inc({ failure });
      if (failure === "rate-limited") rateLimited.inc();
    },
  };
}

function countAudit(named: Named): Pick<Metrics, "countAuditBatch" | "countCheckpointFailure"> {
  const batches = new Histogram({
    ...named("audit_batch_records", "Records of reads that one commit carried"),
    buckets: batchSizes,
  });
  const commits = new Histogram({
    ...named("audit_batch_seconds", "From the begin of such a commit until it was durable"),
    buckets: seconds,
  });
  const checkpointFailures = new Counter(
    named("checkpoint_file_failures_total", "Checkpoints that the file outside the database did not take"),
  );
  return {
    countAuditBatch(records, milliseconds) {
      batches.observe(records);
      commits.observe(milliseconds / 1000);
    },
    countCheckpointFailure: () => checkpointFailures.inc(),
  };
}

type Place = { readonly name: string; readonly help: string; registers: Registry[] };

/** One that cannot be told now is left as it was: the others still are. */
function addGauge(place: Place, source: () => number | Promise<number>): Gauge {
  return new Gauge({
    ...place,
    async collect() {
      const value = await Promise.resolve(source()).catch(() => undefined);
      if (value !== undefined) this.set(value);
    },
  });
}
