import type { EmbedRequest, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

/** The number of special tokens that a model adds around every text. */
const surroundingTokens = 2;

/**
 * Fits a text to embed into the context: truncates it if the request allows it, and throws `prompt-too-long` otherwise.
 */
export function fitText<Token>(
  tokens: readonly Token[],
  { truncates, contextTokens }: Pick<EmbedRequest, "truncates"> & { readonly contextTokens: number },
): Token[] {
  const maxTokens = contextTokens - surroundingTokens - 1;
  if (tokens.length > maxTokens && !truncates) {
    throw new FailureError<EngineFailure>({
      kind: "prompt-too-long",
      promptTokens: tokens.length,
      contextTokens,
    });
  }
  return tokens.slice(0, maxTokens);
}
