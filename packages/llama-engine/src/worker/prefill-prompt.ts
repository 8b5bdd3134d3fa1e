import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from "node-llama-cpp";
import { shortItemTokens } from "./share-batch.ts";

/** About how long a batch may delay other requests that wait for a token. */
const sharedMilliseconds = 50;
/** Alone, a step may take longer, because larger batches are faster. A new request still starts soon. */
const aloneMilliseconds = 60;
/** The same if there was no other request for a while: only the first one to come back waits this long. */
const undisturbedMilliseconds = 1000;
const undisturbedAfterMilliseconds = 2000;
const minSharedStep = 16;
/** With fewer tokens, llama.cpp's kernels run at little more than half their speed. */
const minAloneStep = 64;
const maxStep = 512;

/** The speed of prompt evaluation on this machine, measured over all requests. */
export class PrefillSpeed {
  readonly #now: () => number;
  #tokensPerMillisecond = 0.4;
  #sharedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How many tokens of long prompts a batch may contain next to other requests. */
  get sharedTokens(): number {
    return clamp(this.#tokensPerMillisecond * sharedMilliseconds, minSharedStep);
  }

  /** How many tokens the next step of a long prompt contains. */
  stepTokens(isAlone: boolean): number {
    const now = this.#now();
    if (!isAlone) this.#sharedAt = now;
    const isUndisturbed = now - this.#sharedAt >= undisturbedAfterMilliseconds;
    const milliseconds = isUndisturbed ? undisturbedMilliseconds : aloneMilliseconds;
    const blocks = Math.round((this.#tokensPerMillisecond * milliseconds) / minAloneStep);
    return clamp(blocks * minAloneStep, minAloneStep);
  }

  /** Call this only for steps that shared their batch with no other request. */
  record(tokens: number, milliseconds: number): void {
    if (tokens < minAloneStep) return;
    this.#tokensPerMillisecond =
      0.5 * this.#tokensPerMillisecond + (0.5 * tokens) / Math.max(0.1, milliseconds);
  }
}

function clamp(tokens: number, min: number): number {
  return Math.min(maxStep, Math.max(min, Math.floor(tokens)));
}

/**
 * On CPUs, llama.cpp's attention takes up to thirty times as long for each of fewer tokens, which it computes one by one.
 * In a short context that is little of a token's whole time.
 */
const togetherTokens = 64;
const longContextTokens = 2048;
/** So few are faster one by one. */
const fewTokens = 8;

/** How much of a cached prefix to use: a few of its tokens are read again to compute the new ones together with them. */
export function reusableTokens(cachedTokens: number, promptTokens: number): number {
  const reusable = Math.min(cachedTokens, promptTokens - 1);
  const isFew = promptTokens - reusable < fewTokens;
  if (promptTokens < longContextTokens || isFew) return reusable;
  return Math.min(reusable, promptTokens - togetherTokens);
}

/** How many tokens at the end of a prompt are evaluated together with the first token, which saves one batch. */
export function endTokens(newTokens: number, promptTokens: number): number {
  if (promptTokens < longContextTokens) return Math.min(newTokens, shortItemTokens);
  return newTokens < 2 * togetherTokens ? newTokens : togetherTokens;
}

/** Leaves no small remainder for the last step. */
function chooseStep(restTokens: number, stepTokens: number): number {
  if (restTokens <= stepTokens || restTokens >= stepTokens + togetherTokens) return stepTokens;
  return stepTokens > togetherTokens ? stepTokens - togetherTokens : restTokens;
}

export type PrefillOptions = {
  readonly options: Pick<SequenceEvaluateOptions, "evaluationPriority">;
  readonly speed: PrefillSpeed;
  readonly signal: AbortSignal;
  readonly isAlone: () => boolean;
  readonly pendingAdmissions: () => Promise<unknown> | undefined;
  readonly onProgress: (evaluated: number) => void;
};

/**
 * Evaluates a prompt in steps and checks the signal between them. Steps of several sequences share a batch with the next
 * tokens of running streams; share-batch.ts decides how.
 */
export async function prefillPrompt(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  { options, speed, signal, isAlone, pendingAdmissions, onProgress }: PrefillOptions,
): Promise<void> {
  for (let start = 0; start < tokens.length; ) {
    const admissions = pendingAdmissions();
    if (admissions !== undefined) await admissions;
    signal.throwIfAborted();
    const wasAlone = isAlone();
    const step = tokens.slice(start, start + chooseStep(tokens.length - start, speed.stepTokens(wasAlone)));
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(step, options);
    if (wasAlone && isAlone()) speed.record(step.length, performance.now() - startedAt);
    start += step.length;
    onProgress(start);
  }
  signal.throwIfAborted();
}
