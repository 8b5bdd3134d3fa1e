import type { EngineDriver } from "@hearth-and-keep/engine";
import {
  type Choose,
  createEnginePool,
  createPoolDriver,
  type EnginePool,
  type MemberSnapshot,
  type NamedPool,
} from "@hearth-and-keep/upstream-engine";
import type { RemoteModel } from "../models/remote/engines-file.ts";
import type { Learn } from "../models/remote/remote-models.ts";

export type PoolSnapshot = {
  readonly model: string;
  readonly waiting: number;
  readonly members: readonly MemberSnapshot[];
};

/** The pools of all models that run elsewhere, from start to end of the server. */
export type RemoteEngines = AsyncDisposable & {
  /** Loads what runs elsewhere there, and everything else with the driver of this machine. */
  beside(local: EngineDriver): EngineDriver;
  readonly learn: Learn;
  snapshots(): readonly PoolSnapshot[];
};

export function openRemoteEngines(
  models: readonly RemoteModel[],
  parts: { readonly choose?: Choose } = {},
): RemoteEngines {
  const pools = new Map<string, NamedPool>(
    models.map(({ name, plan }) => [name, { plan, pool: createEnginePool(plan, parts) }]),
  );
  const elsewhere = createPoolDriver(pools);
  const all = (): readonly EnginePool[] => [...pools.values()].map(({ pool }) => pool);
  return {
    beside: (local) =>
      pools.size === 0
        ? local
        : { load: (plan, load) => (plan.remote === undefined ? local : elsewhere).load(plan, load) },
    learn: (name) => pools.get(name)?.pool.facts(),
    snapshots: () =>
      [...pools].map(([model, { pool }]) => ({ model, waiting: pool.waiting, members: pool.snapshot() })),
    async [Symbol.asyncDispose]() {
      await Promise.all(all().map((pool) => pool[Symbol.asyncDispose]()));
    },
  };
}
