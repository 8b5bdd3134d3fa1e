import type { EmbedRequest, EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

/** The tokens that a model puts around every text. */
const frameTokens = 2;

/** A text to be embedded, cut at its end where the request says so; throws `prompt-too-long` otherwise. */
export function fitText<Token>(
  tokens: readonly Token[],
  { truncates, contextTokens }: Pick<EmbedRequest, "truncates"> & { readonly contextTokens: number },
): Token[] {
  const most = contextTokens - frameTokens - 1;
  if (tokens.length > most && !truncates) {
    throw new FailureError<EngineFailure>({
      kind: "prompt-too-long",
      promptTokens: tokens.length,
      contextTokens,
    });
  }
  return tokens.slice(0, most);
}
