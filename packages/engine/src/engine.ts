import type { Conversation, JsonObject } from "./conversation.ts";
import type { EngineEvent } from "./events.ts";
import type { OutputConstraint, Sampling } from "./sampling.ts";

export type LoadPlan = {
  readonly modelPath: string;
  /** The name of a model that runs on remote engines. It has no local files, so `modelPath` is empty. */
  readonly remote?: string;
  /** Context size of each sequence. */
  readonly contextTokens: number;
  /** How many requests can run concurrently. */
  readonly sequences: number;
  /** Layers to offload to the GPU; absent lets the driver choose. */
  readonly gpuLayers?: number;
  readonly cacheType?: "f16" | "q8_0" | "q4_0";
  readonly flashAttention?: boolean;
  /** Prompt tokens per batch; absent lets the driver choose. */
  readonly batchTokens?: number;
  readonly memoryMap?: boolean;
  readonly adapters?: readonly { readonly path: string; readonly scale: number }[];
  readonly projectorPath?: string;
  /** A Go template, for a model file without a Jinja template. */
  readonly goTemplate?: string;
  readonly threads?: number;
  /** Whether to guess tokens ahead and verify several at once, where that is faster; absent means `off`. */
  readonly speculation?: "off" | "auto";
  readonly purpose: "generate" | "embed" | "rank";
};

export type LoadOptions = {
  readonly signal: AbortSignal;
  /** Called with the fraction loaded, from 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Called when `describe().sequences` has changed, as remote engines come and go. */
  readonly onSequencesChange?: () => void;
};

export type EngineDriver = {
  load(plan: LoadPlan, options: LoadOptions): Promise<Engine>;
  /** Whether `gpuLayers` has an effect; absent if it has none. */
  readonly usesGpu?: boolean;
};

export type Engine = AsyncDisposable & {
  describe(): EngineDescription;
  generate(request: EngineRequest, signal: AbortSignal): AsyncIterable<EngineEvent>;
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
  /** A relevance score for each document; higher is better. */
  rank(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly number[]>;
  /** Fails with `not-supported`, as does `count`, if the engine has no tokenizer to call; drivers never estimate. */
  tokenize(text: string, signal?: AbortSignal): Promise<readonly number[]>;
  /** The prompt that the model's template renders from a conversation. */
  render(conversation: Conversation): Promise<string>;
  count(conversation: Conversation, signal?: AbortSignal): Promise<number>;
  /** Resolves once the engine is unloaded. Pending calls fail with `engine-unloaded`. */
  unload(): Promise<void>;
  /** Resolves when the engine has stopped: undefined after `unload`, the failure after a crash. */
  readonly closed: Promise<EngineFailure | undefined>;
};

export type EngineRequest = {
  readonly input:
    | { readonly type: "conversation"; readonly conversation: Conversation }
    | { readonly type: "raw"; readonly prompt: string }
    | { readonly type: "fill-in-the-middle"; readonly prefix: string; readonly suffix: string };
  readonly sampling: Sampling;
  readonly maxTokens: number;
  /** Thinking ends after this many tokens, if `describe().limitsReasoning`; otherwise `generation/` ends it. */
  readonly maxReasoningTokens?: number;
  /** Uses at most this much of the context; absent uses all of it. */
  readonly contextTokens?: number;
  /** Rejects a prompt that leaves less of the context than this for the output. */
  readonly reservedTokens?: number;
  readonly constraint?: OutputConstraint;
  /** How many alternatives to report for each token; absent turns log-probabilities off. */
  readonly logProbabilities?: number;
  /** Cached prompts are shared only within a partition: one per API key, or one for all clients if so configured. */
  readonly cachePartition: string;
  /** The name of the API key that sent the request, for engines that share their time fairly between callers. */
  readonly caller?: string;
  /** Called with the address of the remote engine that responds; never by engines of this machine. */
  readonly onAddress?: (address: string) => void;
};

export type EmbedRequest = {
  readonly texts: readonly string[];
  /** Whether to truncate a text that exceeds the context; otherwise it fails with `prompt-too-long`. */
  readonly truncates: boolean;
  /** Texts are limited to this much context; absent means what is loaded. */
  readonly contextTokens?: number;
  /** As for a generation. */
  readonly onAddress?: (address: string) => void;
};

export type Embeddings = { readonly vectors: readonly Float32Array[]; readonly tokens: number };

export type EngineDescription = {
  readonly driver: string;
  readonly metadata: JsonObject;
  /** Jinja or Go source. Its tags identify the format of the model's thinking and tool calls. */
  readonly chatTemplate: string | null;
  /** Undefined without a template, or if it cannot be parsed. */
  readonly templateCapabilities: TemplateCapabilities | undefined;
  readonly trainedContextTokens: number;
  readonly contextTokens: number;
  /** The engine does not report its context size, so nothing may be dropped or rejected because of it. */
  readonly isContextEstimated?: boolean;
  readonly sequences: number;
  readonly threads: number;
  /** The GPU backend, e.g. "cuda" or "vulkan"; false when only the CPU is used. */
  readonly gpu: string | false;
  /** The name of the GPU, as its driver reports it. */
  readonly gpuDevice?: string;
  /** What the model and its context occupy in the memory of the GPU. */
  readonly gpuBytes?: number;
  /** Why the model runs on the CPU although a GPU was to be used. */
  readonly gpuFailure?: string;
  readonly memoryBytes: { readonly model: number; readonly context: number };
  /** What the operating system counts for the engine's process; absent if it runs elsewhere. */
  readonly measuredMemory?: MeasuredMemory;
  /** Whether `generate` separates thinking and tool calls itself; otherwise `generation/` does. */
  readonly splitsEvents: boolean;
  /** Whether `generate` applies `maxReasoningTokens`. If `splitsEvents`, nothing else can. */
  readonly limitsReasoning?: boolean;
  readonly canFillInTheMiddle: boolean;
  /** Whether `embed` works although the model was loaded to generate. */
  readonly embedsBesideGeneration?: boolean;
  readonly canSeeImages: boolean;
  readonly canHearAudio: boolean;
  /** What protects the machine from the engine, in one line; absent if another machine runs it. */
  readonly protection?: string;
};

export type MeasuredMemory = {
  /** Now. */
  readonly residentBytes: number;
  /** The most since it was started. */
  readonly peakBytes: number;
};

export type TemplateCapabilities = {
  /** The template renders tool definitions. */
  readonly tools: boolean;
  /** The template can turn thinking on and off, or renders earlier thinking. */
  readonly thinking: boolean;
};

/** Every expected failure of an engine, thrown inside a FailureError. */
export type EngineFailure =
  | { readonly kind: "model-invalid"; readonly reason: string }
  | { readonly kind: "insufficient-memory"; readonly neededBytes: number | null }
  | { readonly kind: "load-timed-out"; readonly seconds: number }
  /** This machine cannot run the engine without privileges that no model may have. */
  | { readonly kind: "sandbox-unavailable"; readonly reason: string }
  | { readonly kind: "engine-crashed"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "engine-hung"; readonly seconds: number }
  /** The GPU cannot be used, or was lost while the model ran on it. The next load runs on the CPU. */
  | { readonly kind: "gpu-failed"; readonly reason: string }
  /** The request's grammar stalled the engine; the model is not at fault. */
  | { readonly kind: "grammar-too-slow"; readonly seconds: number }
  /** The request's grammar has stalled the engine before. */
  | { readonly kind: "grammar-rejected" }
  /** Grammars of the same client have stalled the engine repeatedly. */
  | { readonly kind: "grammars-suspended"; readonly retryAfterSeconds: number }
  | {
      readonly kind: "engine-unloaded";
      /** Another request stalled the engine; this one can run again. */
      readonly wasInterrupted?: true;
    }
  | { readonly kind: "model-quarantined"; readonly reason: string; readonly retryAfterSeconds: number }
  /** None of the remote engines of this model responds. */
  | { readonly kind: "engines-unavailable"; readonly retryAfterSeconds: number }
  | {
      readonly kind: "prompt-too-long";
      readonly promptTokens: number;
      readonly contextTokens: number;
      /** What limits the context, if the engine is not the limit. */
      readonly limitedBy?: "model" | "request" | "setting" | "memory" | "engine";
    }
  | { readonly kind: "template-failed"; readonly reason: string }
  | { readonly kind: "schema-unsupported"; readonly keyword: string; readonly location: string }
  | { readonly kind: "grammar-invalid"; readonly reason: string }
  /** An image with a valid header that cannot be decoded. */
  | { readonly kind: "image-unreadable" }
  /** Audio with a valid header that cannot be decoded, or an image beside it: the engine does not say which. */
  | { readonly kind: "audio-unreadable" }
  | { readonly kind: "not-supported"; readonly feature: string };
