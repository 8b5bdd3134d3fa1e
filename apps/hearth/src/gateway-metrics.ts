import { Gauge, type Registry } from "@prometheus-io/client";
import type { PoolSnapshot } from "./scheduling/remote-engines.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** What balancers look at: ours, where Hearth is one engine of their pool, and the engines behind us. */
export type GatewaySources = {
  readonly scheduler: Pick<Scheduler, "queueLengths" | "running">;
  /** What callers call the model with that key. */
  readonly names?: () => Promise<ReadonlyMap<string, string>>;
  readonly pools?: () => readonly PoolSnapshot[];
};

type Load = {
  readonly name: string;
  readonly running: number;
  readonly waiting: number;
  readonly usedShare: number;
};

/**
 * The load of this server under the names that the endpoint picker of an inference gateway reads from vLLM. A sequence
 * has a context of its own, so the share of sequences in use stands for the share of the cache.
 */
export function watchForGateways(sources: GatewaySources, registers: Registry[]): void {
  // All gauges are asked at once when somebody looks, and names are read from the store: once is enough.
  let asked: Promise<readonly Load[]> | undefined;
  const loads = (): Promise<readonly Load[]> =>
    (asked ??= loadsOf(sources).finally(() => {
      asked = undefined;
    }));
  const gauge = (name: string, help: string, value: (load: Load) => number): Gauge =>
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
  gauge("num_requests_running", "Requests under way", ({ running }) => running);
  gauge("num_requests_waiting", "Requests in line", ({ waiting }) => waiting);
  gauge("kv_cache_usage_perc", "Share of the cache in use, from 0 to 1", ({ usedShare }) => usedShare);
  addGauge({
    name: "vllm:lora_requests_info",
    help: "Adapters are part of a model here; none is loaded by name",
    registers,
    labelNames: ["max_lora", "running_lora_adapters", "waiting_lora_adapters"],
    collect() {
      this.set({ max_lora: "0", running_lora_adapters: "", waiting_lora_adapters: "" }, Date.now() / 1000);
    },
  });
  watchPools(sources.pools ?? (() => []), registers);
}

/** With nothing loaded one line says that nothing is to do: a picker takes a missing one for a broken engine. */
async function loadsOf({ scheduler, names, pools }: GatewaySources): Promise<readonly Load[]> {
  const queues = scheduler.queueLengths();
  if (queues.length === 0) return [{ name: "", running: 0, waiting: 0, usedShare: 0 }];
  const known = (await names?.()) ?? new Map<string, string>();
  const loads = new Map<string, Load>();
  for (const { key, purpose, leases, waiting } of queues) {
    const name = known.get(key) ?? "";
    const before = loads.get(name) ?? { name, running: 0, waiting: 0, usedShare: 0 };
    const host = scheduler.running().find((each) => each.key === key && each.purpose === purpose);
    const usedShare = host === undefined ? 0 : leases / Math.max(1, host.sequences);
    loads.set(name, {
      name,
      running: before.running + leases,
      waiting: before.waiting + waiting,
      usedShare: Math.max(before.usedShare, usedShare),
    });
  }
  const inPools = new Map(pools?.().map(({ model, waiting }) => [model, waiting]));
  return [...loads.values()].map((load) => {
    // Those who hold a lease and wait for a place on an engine do not run yet.
    const inPool = Math.min(load.running, inPools.get(load.name) ?? 0);
    return { ...load, running: load.running - inPool, waiting: load.waiting + inPool };
  });
}

const states = ["unknown", "healthy", "suspected", "open", "trial", "draining"] as const;

function watchPools(pools: () => readonly PoolSnapshot[], registers: Registry[]): void {
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
  perEngine("outstanding", "Requests under way on an engine", ({ outstanding }) => outstanding);
  perEngine("requests", "Requests that an engine was asked for so far", ({ requests }) => requests);
  perEngine("failures", "Requests that an engine failed so far", ({ failures }) => failures);
  perEngine("retries", "Requests that went on to another engine so far", ({ retries }) => retries);
  const help = `State of an engine: ${states.map((state, index) => `${index} ${state}`).join(", ")}`;
  perEngine("state", help, ({ state }) => states.indexOf(state));
  addGauge({
    name: "hearth_pool_waiting",
    help: "Requests that wait for a place on an engine",
    registers,
    labelNames: ["model"],
    collect() {
      this.reset();
      for (const pool of pools()) this.set({ model: pool.model }, pool.waiting);
    },
  });
}

/** A gauge belongs to its registry, which asks it when somebody looks. */
function addGauge(...definition: ConstructorParameters<typeof Gauge>): Gauge {
  return new Gauge(...definition);
}
