/**
 * @module
 * One engine at an address, behind OpenAI's interface as vLLM, SGLang, llama.cpp's own server and others speak it:
 * what is asked, how the answer is read, and what became of it when it was refused.
 * Promises that what an engine cannot do is refused by name and never left out in silence, and that nothing an engine
 * says about itself reaches a caller. How the engines differ is data, in this file.
 * Imported by `pool/`, which decides which engine is asked.
 */

export type DialectName = "llama-server" | "vllm" | "sglang" | "openai";

/** What of our sampling an engine takes beyond OpenAI's own fields, by its own names; what is absent it cannot do. */
type SamplingFields = {
  readonly topK?: string;
  readonly minP?: string;
  readonly typicalP?: string;
  readonly repeatPenalty?: string;
  /** Without it the penalty looks at the whole context. */
  readonly repeatLastTokens?: string;
};

export type Dialect = {
  readonly name: DialectName;
  readonly sampling: SamplingFields;
  /** The value that means "all tokens" to it. */
  readonly anyTopK: number;
  /** As pairs, which can forbid a token outright; otherwise as an object of numbers from -100 to 100. */
  readonly takesBiasPairs: boolean;
  readonly grammar: ((grammar: string) => Readonly<Record<string, unknown>>) | undefined;
  readonly takesTemplateVariables: boolean;
  /** What goes on from an answer that was begun, beside the begun answer itself. */
  readonly continuing: Readonly<Record<string, unknown>>;
  /** Keeps the cached prompts of one caller from speeding up another's. */
  readonly takesCacheSalt: boolean;
  /** Counts so far come with every piece, so that an answer we end ourselves is counted. */
  readonly streamOptions: Readonly<Record<string, unknown>>;
  readonly extras: Readonly<Record<string, unknown>>;
  /** Where thoughts stand in a message that is sent; they are read under either name. */
  readonly reasoningField: string;
  /** Whether a text between two others can be asked for by `suffix`. */
  readonly takesSuffix: boolean;
  /**
   * Costs the engine nothing and is answered within a fraction of a second, also while it computes. No engine tells
   * there that it really computes: llama-server does at `/slots`, but only between two steps of its work, and others
   * nowhere for free; so a stream that falls silent is judged by itself.
   */
  readonly healthPath: string;
  /** Where it tells of its context and template; undefined when the list of models is all there is. */
  readonly propertiesPath: string | undefined;
  readonly tokenizing: "llama-server" | "by-prompt" | "none";
  readonly tokenizePath: string;
};

const openai: Dialect = {
  name: "openai",
  sampling: {},
  anyTopK: 0,
  takesBiasPairs: false,
  grammar: undefined,
  takesTemplateVariables: false,
  continuing: {},
  takesCacheSalt: false,
  streamOptions: { include_usage: true },
  extras: {},
  reasoningField: "reasoning_content",
  takesSuffix: true,
  healthPath: "/v1/models",
  propertiesPath: undefined,
  tokenizing: "none",
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
    takesBiasPairs: true,
    grammar: (grammar) => ({ grammar }),
    takesTemplateVariables: true,
    extras: { cache_prompt: true, return_progress: true },
    takesSuffix: false,
    // 503 while it loads; answered by another thread than the computing one.
    healthPath: "/health",
    propertiesPath: "/props",
    tokenizing: "llama-server",
  },
  vllm: {
    ...openai,
    name: "vllm",
    sampling: { topK: "top_k", minP: "min_p", repeatPenalty: "repetition_penalty" },
    anyTopK: -1,
    grammar: (grammar) => ({ structured_outputs: { grammar } }),
    takesTemplateVariables: true,
    continuing: { continue_final_message: true, add_generation_prompt: false },
    takesCacheSalt: true,
    streamOptions: { include_usage: true, continuous_usage_stats: true },
    reasoningField: "reasoning",
    takesSuffix: false,
    // 503 once its computing process has died.
    healthPath: "/health",
    tokenizing: "by-prompt",
  },
  sglang: {
    ...openai,
    name: "sglang",
    sampling: { topK: "top_k", minP: "min_p", repeatPenalty: "repetition_penalty" },
    anyTopK: -1,
    grammar: (grammar) => ({ ebnf: grammar }),
    takesTemplateVariables: true,
    continuing: { continue_final_message: true },
    takesCacheSalt: true,
    streamOptions: { include_usage: true, continuous_usage_stats: true },
    extras: { separate_reasoning: true },
    // Its `/health` has a token generated and looks for it after a second, unless it was started without that.
    healthPath: "/v1/models",
    // A conversation only newer ones count; others refuse it.
    tokenizing: "by-prompt",
    tokenizePath: "/v1/tokenize",
  },
};
