import type { EngineDescription, LoadPlan } from "@hearth-and-keep/engine";
import { toExpiryDate } from "./keep-alive.ts";
import type { ScheduledModel } from "./scheduled-model.ts";

export type RunningModel = {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly contextTokens: number;
  readonly sequences: number;
  /** As estimated for the memory budget. Includes an instance that replaces this one, or was replaced by it. */
  readonly memoryBytes: number;
  readonly gpuBytes: number;
  /** While the model is in use, as if its last lease were released now. */
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

/** Models that are serving, not those that are loading or unloading. */
export function listRunningModels(models: Iterable<ScheduledModel>): readonly RunningModel[] {
  return [...models].flatMap(({ key, purpose, instance, instances, expiresAt, queue }) => {
    if (instance?.state.type !== "serving") return [];
    const { plan, slots, state } = instance;
    const description = state.engine.describe();
    return {
      key,
      purpose,
      contextTokens: Math.min(plan.contextTokens, description.contextTokens),
      sequences: slots,
      memoryBytes: sum(instances.map(({ memoryBytes }) => memoryBytes)),
      gpuBytes: 0,
      expiresAt: toExpiryDate(expiresAt),
      leases: sum(instances.map(({ leases }) => leases)),
      waiting: queue.length,
      description,
    };
  });
}

/** All models that are loaded or have queued requests. */
export function listQueueLengths(models: Iterable<ScheduledModel>): readonly QueueLength[] {
  return [...models].map(({ key, purpose, instances, queue }) => {
    return { key, purpose, leases: sum(instances.map(({ leases }) => leases)), waiting: queue.length };
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
