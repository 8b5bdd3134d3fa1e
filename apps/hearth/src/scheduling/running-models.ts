import type { EngineDescription, LoadPlan } from "@hearth-and-keep/engine";
import { expiryDate } from "./keep-alive.ts";
import type { ScheduledModel } from "./scheduled-model.ts";

export type RunningModel = {
  readonly key: string;
  readonly purpose: LoadPlan["purpose"];
  readonly contextTokens: number;
  readonly sequences: number;
  /** As the budget counts it. */
  readonly memoryBytes: number;
  readonly gpuBytes: number;
  /** While it is in use, as if its last lease ended now. */
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

/** Those that can serve, not those that load or leave. */
export function listRunning(models: Iterable<ScheduledModel>): readonly RunningModel[] {
  return [...models].flatMap(({ key, purpose, hosting, expiresAt, line }) => {
    if (hosting?.stage.type !== "serving") return [];
    const { plan, memoryBytes, leases, places, stage } = hosting;
    const description = stage.engine.describe();
    return {
      key,
      purpose,
      contextTokens: Math.min(plan.contextTokens, description.contextTokens),
      sequences: places,
      memoryBytes,
      gpuBytes: 0,
      expiresAt: expiryDate(expiresAt),
      leases,
      waiting: line.length,
      description,
    };
  });
}

/** All that somebody waits for or that takes memory. */
export function listQueues(models: Iterable<ScheduledModel>): readonly QueueLength[] {
  return [...models].map(({ key, purpose, hosting, line }) => {
    return { key, purpose, leases: hosting?.leases ?? 0, waiting: line.length };
  });
}
