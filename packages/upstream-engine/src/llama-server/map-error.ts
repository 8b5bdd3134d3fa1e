import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { countOf, fieldsOf, textOf } from "../wire/json-fields.ts";
import type { WatchedRequest } from "./watch-engine.ts";

/**
 * Maps an engine's error response to a failure. Its message is not passed on, because it may contain paths and
 * internals.
 */
export function mapErrorResponse(
  { status, value }: { readonly status: number; readonly value: unknown },
  request: WatchedRequest,
): Error {
  const error = fieldsOf(fieldsOf(value)["error"]);
  const message = textOf(error["message"]);
  const promptTokens = countOf(error["n_prompt_tokens"]);
  const contextTokens = countOf(error["n_ctx"]);
  const isTooLong = error["type"] === "exceed_context_size_error";
  if (isTooLong && promptTokens !== undefined && contextTokens !== undefined) {
    return new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
  }
  // A request can have both a grammar and media; only the engine's message says which one is invalid.
  const isMediaError = request.media !== undefined && /\b(?:image|audio)\b/iu.test(message);
  if (status === 400 && request.isConstrained === true && !isMediaError) {
    return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason: "the engine cannot parse it" });
  }
  if (request.media !== undefined) {
    const kind = request.media.hasAudio ? "audio-unreadable" : "image-unreadable";
    return new FailureError<EngineFailure>({ kind });
  }
  return new Error(`The engine responded with status ${status}: ${message}`);
}
