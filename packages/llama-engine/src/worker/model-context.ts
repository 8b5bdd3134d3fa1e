import type {
  LlamaContext,
  LlamaContextSequence,
  LlamaEmbeddingContext,
  LlamaRankingContext,
} from "node-llama-cpp";

/** The kind of context that a model's purpose needs. */
export type ModelContext =
  | {
      readonly purpose: "generate";
      readonly context: LlamaContext;
      readonly sequences: readonly LlamaContextSequence[];
      /** How long native code has been sampling the current token. */
      readonly samplingSeconds: () => number;
    }
  | { readonly purpose: "embed"; readonly context: LlamaEmbeddingContext }
  | { readonly purpose: "rank"; readonly context: LlamaRankingContext };
