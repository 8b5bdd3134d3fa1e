import type { Tool } from "./conversation.ts";

/** How the next token is chosen. Every field is set: defaults are decided above the port, in one place. */
export type Sampling = {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP: number;
  /** Multiplies, as llama.cpp has always done; 1 is off. */
  readonly repeatPenalty: number;
  readonly repeatLastTokens: number;
  /** Added per occurrence, as in OpenAI's API; 0 is off. */
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly seed: number;
  /** Added to the logit of a token; minus infinity forbids it. */
  readonly logitBias: ReadonlyMap<number, number>;
};

/** What the answer must look like. A schema is turned into a grammar by the driver. */
export type OutputConstraint =
  | { readonly type: "json-schema"; readonly schema: unknown }
  | { readonly type: "json" }
  | { readonly type: "gbnf"; readonly grammar: string }
  /** Nothing but calls of these tools, at least one, each as `<tool_call>` with a JSON object of name and arguments. */
  | { readonly type: "tool-calls"; readonly tools: readonly Tool[]; readonly mostCalls: number };
