import { fitText } from "@hearth-and-keep/chat-templates";
import type { Embeddings, EmbedRequest } from "@hearth-and-keep/engine";
import type { LlamaEmbeddingContext, LlamaModel } from "node-llama-cpp";

export type EmbedParts = {
  readonly model: LlamaModel;
  readonly context: LlamaEmbeddingContext;
  readonly signal: AbortSignal;
  /** Of the loaded context. */
  readonly contextTokens: number;
};

/** One text after another, looking at the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { model, context, signal, contextTokens }: EmbedParts,
): Promise<Embeddings> {
  const vectors: Float32Array[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const input = fitText(model.tokenize(text), { truncates, contextTokens });
    vectors.push(Float32Array.from((await context.getEmbeddingFor(input)).vector));
    tokens += input.length;
  }
  return { vectors, tokens };
}
