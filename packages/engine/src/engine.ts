import type { Conversation, JsonObject } from "./conversation.ts";
import type { EngineEvent } from "./events.ts";
import type { OutputConstraint, Sampling } from "./sampling.ts";

export type LoadPlan = {
  readonly modelPath: string;
  /** The name of a model that runs on engines elsewhere; nothing of it lies here, and the path is empty. */
  readonly remote?: string;
  /** Tokens of context for each sequence. */
  readonly contextTokens: number;
  /** How many conversations can be under way at once. */
  readonly sequences: number;
  /** Layers on the GPU; absent lets the driver choose. */
  readonly gpuLayers?: number;
  readonly cacheType?: "f16" | "q8_0" | "q4_0";
  readonly flashAttention?: boolean;
  readonly memoryMap?: boolean;
  readonly adapters?: readonly { readonly path: string; readonly scale: number }[];
  readonly projectorPath?: string;
  /** A template in Go's language, for a model file that has none in Jinja. */
  readonly goTemplate?: string;
  readonly threads?: number;
  readonly purpose: "generate" | "embed" | "rank";
};

export type LoadParts = {
  readonly signal: AbortSignal;
  /** From 0 to 1. */
  readonly onProgress: (share: number) => void;
  /** What `describe` says of sequences has changed, as it does where a model runs on engines that come and go. */
  readonly onSequences?: () => void;
};

export type EngineDriver = { load(plan: LoadPlan, parts: LoadParts): Promise<Engine> };

export type Engine = AsyncDisposable & {
  describe(): EngineDescription;
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<EngineEvent>;
  embed(request: EmbedRequest, signal: AbortSignal): Promise<Embeddings>;
  /** How well each document answers the query, higher is better. */
  rank(query: string, documents: readonly string[], signal: AbortSignal): Promise<readonly number[]>;
  /** Refused as not supported, as `count` is, by engines that cannot be asked: nobody guesses in their place here. */
  tokenize(text: string, signal?: AbortSignal): Promise<readonly number[]>;
  /** The prompt the model's own template makes of a conversation. */
  render(conversation: Conversation): Promise<string>;
  count(conversation: Conversation, signal?: AbortSignal): Promise<number>;
  /** Resolves when it is gone, or rejects callers that wait on it with `engine-unloaded`. */
  unload(): Promise<void>;
  /** Resolves when the engine has ended, by `unload` or by dying. */
  readonly ended: Promise<EngineFailure | undefined>;
};

export type GenerateRequest = {
  readonly input:
    | { readonly type: "conversation"; readonly conversation: Conversation }
    | { readonly type: "raw"; readonly prompt: string }
    | { readonly type: "fill-in-the-middle"; readonly prefix: string; readonly suffix: string };
  readonly sampling: Sampling;
  readonly mostTokens: number;
  readonly constraint?: OutputConstraint;
  /** How many alternatives to report for each token; absent reports no probabilities. */
  readonly logProbabilities?: number;
  /** Requests share cached prompts only within one partition: an API key, or one for all when so configured. */
  readonly cachePartition: string;
};

export type EmbedRequest = {
  readonly texts: readonly string[];
  /** Whether a text over the context is cut at its end; otherwise it is refused as too long. */
  readonly truncates: boolean;
};

export type Embeddings = { readonly vectors: readonly Float32Array[]; readonly tokens: number };

export type EngineDescription = {
  readonly driver: string;
  readonly metadata: JsonObject;
  /** Its text, in Jinja or in Go's language: its tags tell how the model writes thoughts and calls. */
  readonly chatTemplate: string | null;
  /** What the template can be given; undefined without one, or when it cannot be read. */
  readonly templateAbilities: TemplateAbilities | undefined;
  readonly trainedContextTokens: number;
  readonly contextTokens: number;
  /** The engine does not tell its context, so nothing may be left out or refused by it. */
  readonly isContextGuessed?: boolean;
  readonly sequences: number;
  readonly threads: number;
  /** What computes beside the processor, as in "cuda" or "vulkan"; false when the processor does it alone. */
  readonly gpu: string | false;
  readonly memoryBytes: { readonly model: number; readonly context: number };
  /** Whether `generate` already splits thinking and tool calls; otherwise `generation/` does. */
  readonly splitsEvents: boolean;
  readonly canFillInTheMiddle: boolean;
  readonly canSeeImages: boolean;
};

export type TemplateAbilities = {
  /** Offered tools are shown to the model. */
  readonly tools: boolean;
  /** The model is told to think or not, or its earlier thoughts are shown to it. */
  readonly thinking: boolean;
};

/** Everything that can be expected to go wrong in an engine, thrown inside a FailureError. */
export type EngineFailure =
  | { readonly kind: "model-invalid"; readonly reason: string }
  | { readonly kind: "memory-lacking"; readonly neededBytes: number | null }
  | { readonly kind: "load-timed-out"; readonly seconds: number }
  | { readonly kind: "engine-died"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "engine-hung"; readonly seconds: number }
  /** A caller's grammar stopped the engine; the model is not to blame. */
  | { readonly kind: "grammar-too-slow"; readonly seconds: number }
  | { readonly kind: "engine-unloaded" }
  | { readonly kind: "model-quarantined"; readonly reason: string; readonly retryAfterSeconds: number }
  /** None of the engines that a model runs on answers. */
  | { readonly kind: "engines-unavailable"; readonly retryAfterSeconds: number }
  | { readonly kind: "prompt-too-long"; readonly promptTokens: number; readonly contextTokens: number }
  | { readonly kind: "template-failed"; readonly reason: string }
  | { readonly kind: "schema-unsupported"; readonly keyword: string; readonly place: string }
  | { readonly kind: "grammar-invalid"; readonly reason: string }
  /** An image whose head was fine and whose rest cannot be decoded. */
  | { readonly kind: "image-unreadable" }
  | { readonly kind: "not-supported"; readonly feature: string };
