/**
 * @module
 * One remote engine behind the OpenAI API as vLLM, SGLang, llama.cpp's own server and others implement it: builds
 * requests, reads responses and maps errors.
 * A feature that an engine does not support is rejected by name and never dropped silently, and no text of an engine
 * reaches a client. The differences between engines are data in this file.
 * Imported by `pool/`, which selects the engine for each request.
 */

export type DialectName = "llama-server" | "vllm" | "sglang" | "openai";

/** An engine's field names for sampling options beyond OpenAI's own; an absent one is not supported. */
type SamplingFields = {
  readonly topK?: string;
  readonly minP?: string;
  readonly typicalP?: string;
  readonly repeatPenalty?: string;
  /** If absent, the penalty applies to the whole context. */
  readonly repeatLastTokens?: string;
};

export type Dialect = {
  readonly name: DialectName;
  readonly sampling: SamplingFields;
  /** The value that disables top-k. */
  readonly disabledTopK: number;
  /** Biases are pairs, which can ban a token; otherwise they are an object of numbers from -100 to 100. */
  readonly supportsBiasPairs: boolean;
  readonly grammar: ((grammar: string) => Readonly<Record<string, unknown>>) | undefined;
  readonly supportsTemplateVariables: boolean;
  /**
   * The field that limits the tokens of thinking. vLLM has one too, but rejects it unless the server is configured for
   * it.
   */
  readonly reasoningLimitField: string | undefined;
  /** Fields that make the engine continue a final assistant message. */
  readonly continuationFields: Readonly<Record<string, unknown>>;
  /** Isolates the prompt cache of one client from another's, so that timing reveals nothing. */
  readonly supportsCacheSalt: boolean;
  /** Request token counts with every chunk if possible, so that a response we abort is counted too. */
  readonly streamOptions: Readonly<Record<string, unknown>>;
  readonly extraFields: Readonly<Record<string, unknown>>;
  /** The field for reasoning in messages we send; responses are read under either name. */
  readonly reasoningField: string;
  /** Whether fill-in-the-middle is available through `suffix`. */
  readonly supportsSuffix: boolean;
  /**
   * Costs the engine nothing and responds within a fraction of a second, even while it computes. It does not prove that
   * the engine makes progress: llama-server reports that at `/slots`, but only between two steps, and others have no
   * cheap endpoint for it. So silent streams are detected separately.
   */
  readonly healthPath: string;
  /** Returns the context size and the chat template; undefined if there is only the list of models. */
  readonly propertiesPath: string | undefined;
  readonly tokenizer: "llama-server" | "by-prompt" | "none";
  readonly tokenizePath: string;
};

const openai: Dialect = {
  name: "openai",
  sampling: {},
  disabledTopK: 0,
  supportsBiasPairs: false,
  grammar: undefined,
  supportsTemplateVariables: false,
  reasoningLimitField: undefined,
  continuationFields: {},
  supportsCacheSalt: false,
  streamOptions: { include_usage: true },
  extraFields: {},
  reasoningField: "reasoning_content",
  supportsSuffix: true,
  healthPath: "/v1/models",
  propertiesPath: undefined,
  tokenizer: "none",
  tokenizePath: "/tokenize",
};

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  openai,
  "llama-server": {
    ...openai,
    name: "llama-server",
    sampling: {
      topK: "top_k",
      minP: "min_p",
      typicalP: "typical_p",
      repeatPenalty: "repeat_penalty",
      repeatLastTokens: "repeat_last_n",
    },
    supportsBiasPairs: true,
    grammar: (grammar) => ({ grammar }),
    supportsTemplateVariables: true,
    reasoningLimitField: "thinking_budget_tokens",
    extraFields: { cache_prompt: true, return_progress: true },
    supportsSuffix: false,
    // 503 while it loads; served by a thread other than the computing one.
    healthPath: "/health",
    propertiesPath: "/props",
    tokenizer: "llama-server",
  },
  vllm: {
    ...openai,
    name: "vllm",
    sampling: { topK: "top_k", minP: "min_p", repeatPenalty: "repetition_penalty" },
    disabledTopK: -1,
    grammar: (grammar) => ({ structured_outputs: { grammar } }),
    supportsTemplateVariables: true,
    continuationFields: { continue_final_message: true, add_generation_prompt: false },
    supportsCacheSalt: true,
    streamOptions: { include_usage: true, continuous_usage_stats: true },
    reasoningField: "reasoning",
    supportsSuffix: false,
    // 503 after its compute process has died.
    healthPath: "/health",
    tokenizer: "by-prompt",
  },
  sglang: {
    ...openai,
    name: "sglang",
    sampling: { topK: "top_k", minP: "min_p", repeatPenalty: "repetition_penalty" },
    disabledTopK: -1,
    grammar: (grammar) => ({ ebnf: grammar }),
    supportsTemplateVariables: true,
    continuationFields: { continue_final_message: true },
    supportsCacheSalt: true,
    streamOptions: { include_usage: true, continuous_usage_stats: true },
    extraFields: { separate_reasoning: true },
    // By default, its `/health` generates a token and takes a second.
    healthPath: "/v1/models",
    // Only newer versions count the tokens of a conversation; others reject the request.
    tokenizer: "by-prompt",
    tokenizePath: "/v1/tokenize",
  },
};
