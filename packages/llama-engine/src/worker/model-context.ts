import type {
  LlamaContext,
  LlamaContextSequence,
  LlamaEmbeddingContext,
  LlamaRankingContext,
} from "node-llama-cpp";

/** The one kind of context a model's purpose needs. */
export type ModelContext =
  | {
      readonly purpose: "generate";
      readonly context: LlamaContext;
      readonly sequences: readonly LlamaContextSequence[];
    }
  | { readonly purpose: "embed"; readonly context: LlamaEmbeddingContext }
  | { readonly purpose: "rank"; readonly context: LlamaRankingContext };
