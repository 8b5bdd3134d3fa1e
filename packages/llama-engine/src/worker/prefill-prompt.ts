import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from "node-llama-cpp";

/** About how long a batch may delay other requests that wait for a token. */
const sharedMilliseconds = 50;
/** Alone, a step may take longer, because larger batches are faster; new requests and aborts are still noticed soon. */
const aloneMilliseconds = 60;
const minSharedStep = 16;
/** With fewer tokens, llama.cpp's kernels run at little more than half their speed. */
const minAloneStep = 64;
const maxStep = 512;

/** The speed of prompt evaluation on this machine, measured over all requests. */
export class PrefillSpeed {
  #tokensPerMillisecond = 0.4;

  /** How many tokens of long prompts a batch may contain next to other requests. */
  get sharedTokens(): number {
    return clamp(this.#tokensPerMillisecond * sharedMilliseconds, minSharedStep);
  }

  get aloneTokens(): number {
    const blocks = Math.round((this.#tokensPerMillisecond * aloneMilliseconds) / minAloneStep);
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
    const step = tokens.slice(start, start + speed.aloneTokens);
    const startedAt = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(step, options);
    if (wasAlone && isAlone()) speed.record(step.length, performance.now() - startedAt);
    start += step.length;
    onProgress(start);
  }
  signal.throwIfAborted();
}
