import type { KeepAlive } from "./keep-alive.ts";
import { defaultMemoryBudget } from "./memory-budget.ts";

export type SchedulingLimits = {
  /** Budget for the estimated memory of all loaded models. */
  readonly memoryBudgetBytes: number;
  /** The window of requests that set none; undefined gives them as much as model and memory allow. */
  readonly contextTokens: number | undefined;
  /** Concurrent requests per generating model, if memory allows. */
  readonly sequences: number;
  /** How many requests may queue for one model beyond its slots. */
  readonly maxQueuedPerModel: number;
  /** How many requests may queue for all models together. */
  readonly maxQueuedTotal: number;
  readonly keepAlive: KeepAlive;
};

export function defaultLimits(): SchedulingLimits {
  return {
    memoryBudgetBytes: defaultMemoryBudget(),
    contextTokens: undefined,
    sequences: 8,
    maxQueuedPerModel: 64,
    maxQueuedTotal: 512,
    keepAlive: 300,
  };
}
