import type { LlamaContext, LlamaEmbeddingContext, LlamaModel, LlamaRankingContext } from "node-llama-cpp";

/**
 * What the binding keeps to itself and we need: how many threads compute, how long a batch took, and a token's
 * probability before sampling changed it. Its version is pinned; when a part is gone, loading says so at once.
 */
type NativeContext = {
  readonly setThreads: (count: number) => void;
  readonly decodeBatch: () => Promise<void>;
  readonly sampleToken: SampleToken;
};

type NativeSampler = { applyConfig(config: { readonly temperature: number }): void };

/** Flat pairs of token and value; which tokens, and how many of the likeliest, is said in the fifth argument. */
type SampleToken = (
  place: number,
  sampler: NativeSampler,
  ...wanted: readonly unknown[]
) => Promise<number | readonly [token: number, ...unknown[]]>;

/** A context for embeddings or ranking has a plain one inside. */
export type AnyContext = LlamaContext | LlamaEmbeddingContext | LlamaRankingContext;

type HiddenContext = { readonly _ctx?: NativeContext; readonly _llamaContext?: HiddenContext };

type HiddenModel = {
  readonly _model: unknown;
  readonly _llama: { readonly _bindings: { readonly AddonSampler: new (model: unknown) => NativeSampler } };
};

/** As many alternatives as any protocol can ask for. */
export const mostAlternatives = 20;

/** Decides before each batch how many threads compute it, and hears how long it took. */
export type BatchWatch = {
  readonly threads: () => number;
  readonly onBatch: (milliseconds: number) => void;
};

export function watchBatches(context: AnyContext, { threads, onBatch }: BatchWatch): void {
  const native = nativeOf(context);
  const setThreads = native.setThreads.bind(native);
  const decodeBatch = native.decodeBatch.bind(native);
  // The binding sets its own count before each batch; ours takes its place.
  replace(native, "setThreads", () => setThreads(threads()));
  replace(native, "decodeBatch", async () => {
    const startedAt = performance.now();
    await decodeBatch();
    onBatch(performance.now() - startedAt);
  });
}

/**
 * Makes the binding's `probabilities` the natural logarithms of what the model itself gave, before temperature,
 * penalties, bias or a grammar: clients compare them across requests, and so does llama.cpp's own server. The answer
 * tells how long the present token has been being chosen, in seconds; zero between tokens.
 */
export function watchChoosing(context: LlamaContext, model: LlamaModel): () => number {
  const native = nativeOf(context);
  const sampleToken = native.sampleToken.bind(native);
  const plain = plainSampler(model);
  const begun = new Set<number>();
  const chooseWithLogProbabilities: SampleToken = async (place, sampler) => {
    const token = await sampleToken(place, sampler);
    if (typeof token !== "number" || token < 0) return token;
    const which = [[token], false, false, false, mostAlternatives];
    const answer = await sampleToken(place, plain, false, false, which, true);
    return [token, logProbabilities(answer)];
  };
  replace(native, "sampleToken", async (place, sampler, ...wanted) => {
    const startedAt = performance.now();
    begun.add(startedAt);
    try {
      if (wanted[0] === true) return await chooseWithLogProbabilities(place, sampler);
      return await sampleToken(place, sampler, ...wanted);
    } finally {
      begun.delete(startedAt);
    }
  });
  return () => (begun.size === 0 ? 0 : (performance.now() - Math.min(...begun)) / 1000);
}

/** The likeliest come first, so the first logit is the one the sum of weights refers to. */
function logProbabilities(answer: Awaited<ReturnType<SampleToken>>): readonly number[] {
  // The binding's own answer when logits and the sum of their weights are asked for.
  const [, , , logits, sum] = answer as readonly [number, never, never, readonly number[], number];
  const offset = (logits[1] ?? 0) + Math.log(sum);
  return logits.map((value, index) => (index % 2 === 0 ? value : value - offset));
}

/** A native class's methods cannot be assigned, only defined anew on the object. */
function replace<Name extends keyof NativeContext>(
  native: NativeContext,
  name: Name,
  value: NativeContext[Name],
): void {
  Object.defineProperty(native, name, { value, configurable: true });
}

function plainSampler(model: LlamaModel): NativeSampler {
  // The binding's types leave out what it marks as internal.
  const hidden = model as unknown as HiddenModel;
  const { _model: native, _llama: llama } = hidden;
  const { _bindings: bindings } = llama;
  const sampler = new bindings.AddonSampler(native);
  sampler.applyConfig({ temperature: 0 });
  return sampler;
}

function nativeOf(context: AnyContext): NativeContext {
  // As above.
  const { _ctx: own, _llamaContext: inner } = context as unknown as HiddenContext;
  const { _ctx: native = own } = inner ?? {};
  const parts = [native?.setThreads, native?.decodeBatch, native?.sampleToken];
  if (native === undefined || parts.some((part) => typeof part !== "function")) {
    throw new Error("Cannot work with this version of node-llama-cpp: its native context has changed");
  }
  return native;
}
