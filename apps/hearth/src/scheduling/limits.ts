import type { KeepAlive } from "./keep-alive.ts";
import { defaultMemoryBudget } from "./memory-budget.ts";

export type SchedulingLimits = {
  /** For all loaded models together, as we count it. */
  readonly memoryBudgetBytes: number;
  /** Of each sequence, unless a request asks for more or the model was trained on less. */
  readonly contextTokens: number;
  /** Of a model that generates, where memory allows. */
  readonly sequences: number;
  /** How many may wait for one model beyond its sequences. */
  readonly waitingLine: number;
  /** How many may wait for all models together. */
  readonly waitingInAll: number;
  readonly keepAlive: KeepAlive;
};

export function defaultLimits(): SchedulingLimits {
  return {
    memoryBudgetBytes: defaultMemoryBudget(),
    contextTokens: 8192,
    sequences: 8,
    waitingLine: 64,
    waitingInAll: 512,
    keepAlive: 300,
  };
}
