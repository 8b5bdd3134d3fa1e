import type { KeepAlive } from "./keep-alive.ts";
import { defaultMemoryBudget } from "./memory-budget.ts";

export type SchedulingLimits = {
  /** Budget for the estimated memory of all loaded models. */
  readonly memoryBudgetBytes: number;
  /** The window of requests that set none; undefined gives them as much as model and memory allow. */
  readonly contextTokens: number | undefined;
  /** Concurrent requests per generating model, if memory allows. */
  readonly sequences: number;
  /** How many requests of one owner may queue for one model beyond its slots. */
  readonly maxQueuedPerModel: number;
  /** How many requests may queue for all models together, unless their owner has few of them. */
  readonly maxQueuedTotal: number;
  /** After this, clients are told their positions. Failures before that still have a status of their own. */
  readonly queueNoticeSeconds: number;
  readonly keepAlive: KeepAlive;
};

export function defaultLimits(): SchedulingLimits {
  return {
    memoryBudgetBytes: defaultMemoryBudget(),
    contextTokens: undefined,
    sequences: 8,
    maxQueuedPerModel: 64,
    maxQueuedTotal: 512,
    queueNoticeSeconds: 5,
    keepAlive: 300,
  };
}
