import type { UnusedMemory } from "@hearth-and-keep/engine-host";
import type {
  LlamaContext,
  LlamaContextSequence,
  LlamaEmbeddingContext,
  LlamaRankingContext,
} from "node-llama-cpp";
import type { StartSpeculation } from "./speculate.ts";

/** The kind of context that a model's purpose needs. */
export type ModelContext =
  | {
      readonly purpose: "generate";
      readonly context: LlamaContext;
      readonly sequences: readonly LlamaContextSequence[];
      /** How long native code has been sampling the current token. */
      readonly samplingSeconds: () => number;
      /** A batch of a request that was aborted continues to the end. */
      readonly isDecoding: () => boolean;
      /** Of the cache, which is allocated for all sequences; undefined if it was not cleared, and so occupies none. */
      readonly unusedMemory: UnusedMemory | undefined;
      /** Undefined if speculation is off. */
      readonly startSpeculation: StartSpeculation | undefined;
    }
  | { readonly purpose: "embed"; readonly context: LlamaEmbeddingContext }
  | { readonly purpose: "rank"; readonly context: LlamaRankingContext };
