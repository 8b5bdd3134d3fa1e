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
      /** How long native code has been choosing the present token. */
      readonly choosingSeconds: () => number;
    }
  | { readonly purpose: "embed"; readonly context: LlamaEmbeddingContext }
  | { readonly purpose: "rank"; readonly context: LlamaRankingContext };
