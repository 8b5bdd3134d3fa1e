import type { EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";

type Limits = Pick<EngineRequest, "maxTokens" | "contextTokens" | "reservedTokens">;

/** How many tokens a request may generate; throws `prompt-too-long` if its prompt leaves less than it reserves. */
export function fitPrompt(
  promptTokens: number,
  { maxTokens, contextTokens = Number.POSITIVE_INFINITY, reservedTokens = 1 }: Limits,
  engineTokens: number,
): number {
  if (promptTokens === 0) throw new Error("Cannot generate from an empty prompt");
  const usableTokens = Math.min(contextTokens, engineTokens);
  if (promptTokens + reservedTokens > usableTokens) {
    throw new FailureError<EngineFailure>({
      kind: "prompt-too-long",
      promptTokens,
      contextTokens: usableTokens,
    });
  }
  return Math.min(maxTokens, usableTokens - promptTokens);
}
