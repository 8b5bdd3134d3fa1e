import { Gauge, type Registry } from "@prometheus-io/client";
import type { PoolSnapshot } from "./scheduling/remote-engines.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** Sources of the metrics that load balancers read: this server's load, and the remote engines it uses. */
export type GatewaySources = {
  readonly scheduler: Pick<Scheduler, "queueLengths" | "running">;
  /** Display names of models by key. */
  readonly names?: () => Promise<ReadonlyMap<string, string>>;
  readonly pools?: () => readonly PoolSnapshot[];
};

type ModelLoad = {
  readonly name: string;
  readonly running: number;
  readonly waiting: number;
  readonly usedShare: number;
};

/**
 * Publishes this server's load under vLLM's metric names, which the endpoint picker of an inference gateway reads. Each
 * sequence has its own context, so the share of sequences in use is reported as the KV cache usage.
 */
export function registerGatewayMetrics(sources: GatewaySources, registers: Registry[]): void {
  // A scrape collects all gauges at once, and model names are read from the store, so they share one collection.
  let pending: Promise<readonly ModelLoad[]> | undefined;
  const loads = (): Promise<readonly ModelLoad[]> =>
    (pending ??= collectLoads(sources).finally(() => {
      pending = undefined;
    }));
  const gauge = (name: string, help: string, value: (load: ModelLoad) => number): Gauge =>
    new Gauge({
      name: `vllm:${name}`,
      help,
      registers,
      labelNames: ["model_name"],
      async collect() {
        this.reset();
        for (const load of await loads()) this.set({ model_name: load.name }, value(load));
      },
    });
  gauge("num_requests_running", "Requests being processed", ({ running }) => running);
  gauge("num_requests_waiting", "Requests in a queue", ({ waiting }) => waiting);
  gauge("kv_cache_usage_perc", "Share of the KV cache in use, from 0 to 1", ({ usedShare }) => usedShare);
  addGauge({
    name: "vllm:lora_requests_info",
    help: "LoRA adapters; always empty, because adapters are part of a model",
    registers,
    labelNames: ["max_lora", "running_lora_adapters", "waiting_lora_adapters"],
    collect() {
      this.set({ max_lora: "0", running_lora_adapters: "", waiting_lora_adapters: "" }, Date.now() / 1000);
    },
  });
  registerPoolMetrics(sources.pools ?? (() => []), registers);
}

/** Without loaded models, reports one idle entry: an endpoint picker treats a missing metric as a broken engine. */
async function collectLoads({ scheduler, names, pools }: GatewaySources): Promise<readonly ModelLoad[]> {
  const queues = scheduler.queueLengths();
  if (queues.length === 0) return [{ name: "", running: 0, waiting: 0, usedShare: 0 }];
  const displayNames = (await names?.()) ?? new Map<string, string>();
  const loads = new Map<string, ModelLoad>();
  for (const { key, purpose, leases, waiting } of queues) {
    const name = displayNames.get(key) ?? "";
    const previous = loads.get(name) ?? { name, running: 0, waiting: 0, usedShare: 0 };
    const host = scheduler.running().find((each) => each.key === key && each.purpose === purpose);
    const usedShare = host === undefined ? 0 : leases / Math.max(1, host.sequences);
    loads.set(name, {
      name,
      running: previous.running + leases,
      waiting: previous.waiting + waiting,
      usedShare: Math.max(previous.usedShare, usedShare),
    });
  }
  const inPools = new Map(pools?.().map(({ model, waiting }) => [model, waiting]));
  return [...loads.values()].map((load) => {
    // A request that holds a lease but waits for a slot on a remote engine is not running yet.
    const inPool = Math.min(load.running, inPools.get(load.name) ?? 0);
    return { ...load, running: load.running - inPool, waiting: load.waiting + inPool };
  });
}

const states = ["unknown", "healthy", "suspected", "open", "trial", "draining"] as const;

function registerPoolMetrics(pools: () => readonly PoolSnapshot[], registers: Registry[]): void {
  type Member = PoolSnapshot["members"][number];
  const perEngine = (name: string, help: string, value: (member: Member) => number): Gauge =>
    new Gauge({
      name: `hearth_pool_${name}`,
      help,
      registers,
      labelNames: ["model", "engine"],
      collect() {
        this.reset();
        for (const { model, members } of pools()) {
          for (const member of members) this.set({ model, engine: member.label }, value(member));
        }
      },
    });
  perEngine("outstanding", "Requests in flight on an engine", ({ outstanding }) => outstanding);
  perEngine("requests", "Requests sent to an engine so far", ({ requests }) => requests);
  perEngine("failures", "Failed requests of an engine so far", ({ failures }) => failures);
  perEngine("retries", "Requests retried on another engine so far", ({ retries }) => retries);
  const help = `State of an engine: ${states.map((state, index) => `${index} ${state}`).join(", ")}`;
  perEngine("state", help, ({ state }) => states.indexOf(state));
  addGauge({
    name: "hearth_pool_waiting",
    help: "Requests waiting for a slot on an engine",
    registers,
    labelNames: ["model"],
    collect() {
      this.reset();
      for (const pool of pools()) this.set({ model: pool.model }, pool.waiting);
    },
  });
}

/** A gauge registers itself with its registry, which keeps and collects it. */
function addGauge(...definition: ConstructorParameters<typeof Gauge>): Gauge {
  return new Gauge(...definition);
}
