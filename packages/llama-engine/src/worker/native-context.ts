import type { LlamaContext, LlamaEmbeddingContext, LlamaModel, LlamaRankingContext } from "node-llama-cpp";

/**
 * Internals of the binding: the number of threads, the duration of a batch, and a token's probability before sampling.
 * The binding's version is pinned, and loading fails at once if one of these methods is missing.
 */
type NativeContext = {
  readonly setThreads: (count: number) => void;
  readonly decodeBatch: () => Promise<void>;
  readonly sampleToken: SampleToken;
};

type NativeSampler = { applyConfig(config: { readonly temperature: number }): void };

/** Returns flat pairs of token and value; the fifth argument selects the tokens and how many of the most likely. */
type SampleToken = (
  batchIndex: number,
  sampler: NativeSampler,
  ...options: readonly unknown[]
) => Promise<number | readonly [token: number, ...unknown[]]>;

/** An embedding or ranking context wraps a plain one. */
export type AnyContext = LlamaContext | LlamaEmbeddingContext | LlamaRankingContext;

type HiddenContext = { readonly _ctx?: NativeContext; readonly _llamaContext?: HiddenContext };

type HiddenModel = {
  readonly _model: unknown;
  readonly _llama: { readonly _bindings: { readonly AddonSampler: new (model: unknown) => NativeSampler } };
};

/** The most alternatives that any API can request. */
export const maxAlternatives = 20;

/** `threads` is called before each batch, `onBatch` after it. */
export type BatchHooks = {
  readonly threads: () => number;
  readonly onBatch: (milliseconds: number) => void;
};

export function hookBatches(context: AnyContext, { threads, onBatch }: BatchHooks): void {
  const native = getNativeContext(context);
  const setThreads = native.setThreads.bind(native);
  const decodeBatch = native.decodeBatch.bind(native);
  // The binding sets its own number of threads before each batch; this replaces it.
  replaceMethod(native, "setThreads", () => setThreads(threads()));
  replaceMethod(native, "decodeBatch", async () => {
    const startedAt = performance.now();
    await decodeBatch();
    onBatch(performance.now() - startedAt);
  });
}

/** Returns a getter for whether a batch is being computed. */
export function hookDecoding(context: AnyContext): () => boolean {
  const native = getNativeContext(context);
  const decodeBatch = native.decodeBatch.bind(native);
  let running = 0;
  replaceMethod(native, "decodeBatch", async () => {
    running += 1;
    try {
      await decodeBatch();
    } finally {
      running -= 1;
    }
  });
  return () => running > 0;
}

/**
 * Makes the binding report log-probabilities of the model's raw logits, before temperature, penalties, bias and grammar,
 * as llama.cpp's own server does: clients compare them across requests. Returns a getter for how many seconds the
 * current token has been sampling; 0 between tokens.
 */
export function hookSampling(context: LlamaContext, model: LlamaModel): () => number {
  const native = getNativeContext(context);
  const sampleToken = native.sampleToken.bind(native);
  const plainSampler = createPlainSampler(model);
  const startTimes = new Set<number>();
  const sampleWithLogProbabilities: SampleToken = async (batchIndex, sampler) => {
    const token = await sampleToken(batchIndex, sampler);
    if (typeof token !== "number" || token < 0) return token;
    const selection = [[token], false, false, false, maxAlternatives];
    const result = await sampleToken(batchIndex, plainSampler, false, false, selection, true);
    return [token, toLogProbabilities(result)];
  };
  replaceMethod(native, "sampleToken", async (batchIndex, sampler, ...options) => {
    const startedAt = performance.now();
    startTimes.add(startedAt);
    try {
      if (options[0] === true) return await sampleWithLogProbabilities(batchIndex, sampler);
      return await sampleToken(batchIndex, sampler, ...options);
    } finally {
      startTimes.delete(startedAt);
    }
  });
  return () => (startTimes.size === 0 ? 0 : (performance.now() - Math.min(...startTimes)) / 1000);
}

/** The most likely token comes first, and the sum of exponentials is relative to its logit. */
function toLogProbabilities(result: Awaited<ReturnType<SampleToken>>): readonly number[] {
  // The binding's result when logits and the sum of their exponentials are requested.
  const [, , , logits, sum] = result as readonly [number, never, never, readonly number[], number];
  const offset = (logits[1] ?? 0) + Math.log(sum);
  return logits.map((value, index) => (index % 2 === 0 ? value : value - offset));
}

/** The methods of a native class cannot be assigned, only redefined on the object. */
function replaceMethod<Name extends keyof NativeContext>(
  native: NativeContext,
  name: Name,
  value: NativeContext[Name],
): void {
  Object.defineProperty(native, name, { value, configurable: true });
}

function createPlainSampler(model: LlamaModel): NativeSampler {
  // The binding's types omit its internals.
  const hidden = model as unknown as HiddenModel;
  const { _model: native, _llama: llama } = hidden;
  const { _bindings: bindings } = llama;
  const sampler = new bindings.AddonSampler(native);
  sampler.applyConfig({ temperature: 0 });
  return sampler;
}

function getNativeContext(context: AnyContext): NativeContext {
  // As above.
  const { _ctx: own, _llamaContext: inner } = context as unknown as HiddenContext;
  const { _ctx: native = own } = inner ?? {};
  const methods = [native?.setThreads, native?.decodeBatch, native?.sampleToken];
  if (native === undefined || methods.some((method) => typeof method !== "function")) {
    throw new Error("This version of node-llama-cpp is not supported: its native context has changed");
  }
  return native;
}
