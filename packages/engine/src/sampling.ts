import type { Tool } from "./conversation.ts";

/** How the next token is sampled. Every field is set: defaults are applied above the port, in `generation/`. */
export type Sampling = {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP: number;
  /** Multiplicative, as in llama.cpp; 1 is off. */
  readonly repeatPenalty: number;
  readonly repeatLastTokens: number;
  /** Added per occurrence, as in OpenAI's API; 0 is off. */
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly seed: number;
  /** Added to the logit of a token; minus infinity forbids it. */
  readonly logitBias: ReadonlyMap<number, number>;
};

/**
 * The format the output must match. The driver compiles a schema to a grammar. A strict schema is enforced exactly or
 * rejected; otherwise keywords without an exact grammar have no effect.
 */
export type OutputConstraint =
  | { readonly type: "json-schema"; readonly schema: unknown; readonly isStrict?: boolean }
  | { readonly type: "json" }
  | { readonly type: "gbnf"; readonly grammar: string }
  /** One or more calls of these tools and nothing else, each a `<tool_call>` tag around a JSON object. */
  | { readonly type: "tool-calls"; readonly tools: readonly Tool[]; readonly maxCalls: number };
