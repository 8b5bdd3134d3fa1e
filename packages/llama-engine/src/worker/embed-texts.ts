import { fitText } from "@hearth-and-keep/chat-templates";
import type { EmbedRequest } from "@hearth-and-keep/engine";
import type { LlamaEmbeddingContext, LlamaModel, Token } from "node-llama-cpp";
import type { CallResults } from "../channel/schema.ts";
import { encodeVector } from "../channel/vectors.ts";

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
): Promise<CallResults["embed"]> {
  const vectors: string[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const input = fitText(model.tokenize(text), { truncates, contextTokens });
    const { vector } = await context.getEmbeddingFor(input.length === 0 ? emptyText(model) : input);
    vectors.push(encodeVector(Float32Array.from(vector)));
    tokens += input.length;
  }
  return { vectors, tokens };
}

/** The binding has no vector for no tokens; the model has one for what surrounds every text. */
function emptyText({ tokens }: LlamaModel): Token[] {
  return [tokens.bos ?? tokens.eos ?? tokens.nl].filter((token) => token !== null);
}
