import type { EngineDescription, LoadPlan } from "@hearth-and-keep/engine";
import { toExpiryDate } from "./keep-alive.ts";
import type { QueuePosition } from "./load-request.ts";
import type { MemoryBreakdown } from "./memory-budget.ts";
import type { ScheduledModel } from "./scheduled-model.ts";

export type RunningModel = {
  /** Of the model that has used the load for longest. */
  readonly key: string;
  /** All models that use the load: those with the same weights share one. */
  readonly users: readonly { readonly key: string; readonly expiresAt: Date | "never" }[];
  readonly purpose: LoadPlan["purpose"];
  readonly contextTokens: number;
  readonly sequences: number;
  /** As estimated for the memory budget. Includes an instance that replaces this one, or was replaced by it. */
  readonly memoryBytes: number;
  /** Of its instance only. */
  readonly breakdown: MemoryBreakdown;
  readonly gpuBytes: number;
  /** Of the last user. While the model is in use, as if its last lease were released now. */
  readonly expiresAt: Date | "never";
  readonly leases: number;
  readonly waiting: number;
  readonly description: EngineDescription;
};

export type QueueLength = {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly leases: number;
  readonly waiting: number;
};

export type ModelQueue = QueueLength & {
  /** How many requests can run concurrently; 0 while the model is not loaded. */
  readonly slots: number;
  /** How many prompt tokens an output token counts as, when owners take turns. */
  readonly outputWeight: number;
  /** In the order in which they would be served. */
  readonly positions: readonly (QueuePosition & { readonly key: string; readonly ownerId: string })[];
};

/** Models that are serving, not those that are loading or unloading. */
export function listRunningModels(models: Iterable<ScheduledModel>): readonly RunningModel[] {
  return [...models].flatMap((model) => {
    const { key, purpose, instance, instances, expiresAt, queue } = model;
    if (instance?.state.type !== "serving") return [];
    const { plan, slots, state, breakdown } = instance;
    const description = state.engine.describe();
    return {
      key,
      users: listUsers(model),
      purpose,
      contextTokens: Math.min(plan.contextTokens, description.contextTokens),
      sequences: slots,
      memoryBytes: sum(instances.map(({ memoryBytes }) => memoryBytes)),
      breakdown,
      gpuBytes: description.gpuBytes ?? 0,
      expiresAt: toExpiryDate(expiresAt),
      leases: sum(instances.map(({ leases }) => leases)),
      waiting: queue.length,
      description,
    };
  });
}

function listUsers(model: ScheduledModel): RunningModel["users"] {
  const keys = model.users.activeKeys;
  return (keys.length === 0 ? [model.key] : keys).map((key) => ({
    key,
    expiresAt: toExpiryDate(model.expiryOf(key)),
  }));
}

/** All models that are loaded or have queued requests. */
export function listQueueLengths(models: Iterable<ScheduledModel>): readonly QueueLength[] {
  return [...models].map(({ key, purpose, instances, queue }) => {
    return { key, purpose, leases: sum(instances.map(({ leases }) => leases)), waiting: queue.length };
  });
}

export function listQueues(models: Iterable<ScheduledModel>): readonly ModelQueue[] {
  return [...models].map(({ key, purpose, instances, instance, queue, positions }) => ({
    key,
    purpose,
    leases: sum(instances.map(({ leases }) => leases)),
    waiting: queue.length,
    slots: instance?.slots ?? 0,
    outputWeight: queue.outputWeight,
    positions: positions.map(({ queued, ...queuePosition }) => ({
      ...queuePosition,
      key: queued.request.key,
      ownerId: queued.owner.id,
    })),
  }));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
