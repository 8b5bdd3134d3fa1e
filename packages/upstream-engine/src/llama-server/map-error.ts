import type { EngineFailure } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { countOf, fieldsOf, textOf } from "../wire/json-fields.ts";
import type { WatchedRequest } from "./watch-engine.ts";

/** What an engine's refusal means to callers. Its own words stay with us: they may name files and internals. */
export function nameRefusal(
  { status, value }: { readonly status: number; readonly value: unknown },
  asked: WatchedRequest,
): Error {
  const error = fieldsOf(fieldsOf(value)["error"]);
  const message = textOf(error["message"]);
  const promptTokens = countOf(error["n_prompt_tokens"]);
  const contextTokens = countOf(error["n_ctx"]);
  const isTooLong = error["type"] === "exceed_context_size_error";
  if (isTooLong && promptTokens !== undefined && contextTokens !== undefined) {
    return new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
  }
  // A request may have a grammar and images; only the engine's words tell which of them it means.
  const isOfImage = asked.hasImages === true && /\bimage\b/iu.test(message);
  if (status === 400 && asked.isConstrained === true && !isOfImage) {
    return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason: "The engine cannot read it" });
  }
  if (asked.hasImages === true) return new FailureError<EngineFailure>({ kind: "image-unreadable" });
  return new Error(`Cannot finish in the engine: it answered ${status} ${message}`);
}
