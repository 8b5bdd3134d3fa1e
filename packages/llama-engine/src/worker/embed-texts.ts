import { fitText } from "@hearth-and-keep/chat-templates";
import type { Embeddings, EmbedRequest } from "@hearth-and-keep/engine";
import type { LlamaEmbeddingContext, LlamaModel } from "node-llama-cpp";

export type EmbedContext = {
  readonly model: LlamaModel;
  readonly context: LlamaEmbeddingContext;
  readonly signal: AbortSignal;
  /** Size of the loaded context. */
  readonly contextTokens: number;
};

/** Embeds texts one by one and checks the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { model, context, signal, contextTokens }: EmbedContext,
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
