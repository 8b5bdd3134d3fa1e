import type { Engine, LoadPlan } from "@hearth-and-keep/engine";
import type { KeepAlive } from "./keep-alive.ts";
import type { ModelSize } from "./memory-budget.ts";

/** What a request wants lent. */
export type ModelWish = {
  /** Who it is: the digest of the model and of its adapters. */
  readonly key: string;
  readonly modelPath: string;
  /** Engines elsewhere run it. */
  readonly remote?: string;
  /** How many it serves at once, when that is not ours to decide. */
  readonly sequences?: number;
  readonly adapters?: LoadPlan["adapters"];
  readonly projectorPath?: string;
  /** For a model file without a template in Jinja. */
  readonly goTemplate?: string;
  readonly purpose: LoadPlan["purpose"];
  /** As the request asked; absent takes what is loaded. */
  readonly contextTokens?: number;
  readonly trainedContextTokens: number;
  readonly size: ModelSize;
  /** Overrides how long the model stays, for later requests too; absent leaves it as it is. */
  readonly keepAlive?: KeepAlive;
};

/** A place on a loaded model; to be disposed when the request is over, however it ends. */
export type Lease = Disposable & {
  readonly engine: Engine;
  readonly contextTokens: number;
  /** How long this request waited for loading; 0 when the model was loaded. */
  readonly loadMilliseconds: number;
  /** How long it waited for anything else. */
  readonly queueMilliseconds: number;
  /** How many were ahead in the line at entry. */
  readonly position: number;
};

/** The least context that serves a wish: what it asked for, but never more than the model was trained on. */
export function leastContextOf({ contextTokens = 0, trainedContextTokens }: ModelWish): number {
  return Math.min(contextTokens, trainedContextTokens);
}

/**
 * The contexts to load for a line of wishes, the best first: enough for everyone in it, enough for the first, and
 * less than the default only when the first asked for less. Empty lines have none.
 */
export function contextsFor(wishes: readonly ModelWish[], defaultTokens: number): readonly number[] {
  const [first] = wishes;
  if (first === undefined) return [];
  const usual = Math.min(defaultTokens, first.trainedContextTokens);
  const forAll = Math.max(usual, ...wishes.map(leastContextOf));
  const forFirst = Math.max(usual, leastContextOf(first));
  const asked = first.contextTokens === undefined ? forFirst : leastContextOf(first);
  return [...new Set([forAll, forFirst, asked])];
}
