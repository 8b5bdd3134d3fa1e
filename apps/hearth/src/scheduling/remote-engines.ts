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
import type { GetEngineInfo } from "../models/remote/remote-models.ts";

export type PoolSnapshot = {
  readonly model: string;
  readonly waiting: number;
  readonly members: readonly MemberSnapshot[];
};

/** The engine pools of all remote models, for the lifetime of the server. */
export type RemoteEngines = AsyncDisposable & {
  /** A driver that loads remote models from their pools and all others with the local driver. */
  extendDriver(local: EngineDriver): EngineDriver;
  readonly getEngineInfo: GetEngineInfo;
  snapshots(): readonly PoolSnapshot[];
};

export function openRemoteEngines(
  models: readonly RemoteModel[],
  options: { readonly choose?: Choose } = {},
): RemoteEngines {
  const pools = new Map<string, NamedPool>(
    models.map(({ name, plan }) => [name, { plan, pool: createEnginePool(plan, options) }]),
  );
  const remoteDriver = createPoolDriver(pools);
  const all = (): readonly EnginePool[] => [...pools.values()].map(({ pool }) => pool);
  return {
    extendDriver: (local) =>
      pools.size === 0
        ? local
        : {
            ...local,
            load: (plan, load) => (plan.remote === undefined ? local : remoteDriver).load(plan, load),
          },
    getEngineInfo: (name) => pools.get(name)?.pool.facts(),
    snapshots: () =>
      [...pools].map(([model, { pool }]) => ({ model, waiting: pool.waiting, members: pool.snapshot() })),
    async [Symbol.asyncDispose]() {
      await Promise.all(all().map((pool) => pool[Symbol.asyncDispose]()));
    },
  };
}
