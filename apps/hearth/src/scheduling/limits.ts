import type { KeepAlive } from "./keep-alive.ts";
import { defaultMemoryBudget } from "./memory-budget.ts";

export type SchedulingLimits = {
  /** Budget for the estimated memory of all loaded models. */
  readonly memoryBudgetBytes: number;
  /** Default context of each sequence, unless a request asks for more or the model was trained on less. */
  readonly contextTokens: number;
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
    contextTokens: 8192,
    sequences: 8,
    maxQueuedPerModel: 64,
    maxQueuedTotal: 512,
    keepAlive: 300,
  };
}
