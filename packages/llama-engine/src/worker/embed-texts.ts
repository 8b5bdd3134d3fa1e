import { FailureError } from "@hearth-and-keep/failures";
import type { LlamaEmbeddingContext, LlamaModel, Token } from "node-llama-cpp";
import type { Embeddings, EmbedRequest, EngineFailure } from "../port/engine.ts";

export type EmbedParts = {
  readonly model: LlamaModel;
  readonly context: LlamaEmbeddingContext;
  readonly signal: AbortSignal;
  /** Of the loaded context. */
  readonly contextTokens: number;
};

/** The tokens that a model puts around every text. */
const frameTokens = 2;

/** One text after another, looking at the signal between them. */
export async function embedTexts(
  { texts, truncates }: EmbedRequest,
  { model, context, signal, contextTokens }: EmbedParts,
): Promise<Embeddings> {
  const vectors: Float32Array[] = [];
  let tokens = 0;
  for (const text of texts) {
    signal.throwIfAborted();
    const input = fit(model.tokenize(text), { truncates, contextTokens });
    vectors.push(Float32Array.from((await context.getEmbeddingFor(input)).vector));
    tokens += input.length;
  }
  return { vectors, tokens };
}

function fit(
  tokens: Token[],
  { truncates, contextTokens }: { readonly truncates: boolean; readonly contextTokens: number },
): Token[] {
  const most = contextTokens - frameTokens - 1;
  if (tokens.length <= most) return tokens;
  if (truncates) return tokens.slice(0, most);
  throw new FailureError<EngineFailure>({
    kind: "prompt-too-long",
    promptTokens: tokens.length,
    contextTokens,
  });
}
