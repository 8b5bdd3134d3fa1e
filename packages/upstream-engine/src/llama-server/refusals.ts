import { FailureError } from "@hearth-and-keep/failures";
import type { EngineFailure } from "@hearth-and-keep/llama-engine";
import { fieldOf, numberOf, textOf } from "./read-json.ts";
import type { Asked } from "./watch-engine.ts";

/** What an engine's refusal means to callers. Its own words stay with us: they may name files and internals. */
export function nameRefusal(
  { status, value }: { readonly status: number; readonly value: unknown },
  asked: Asked,
): Error {
  const error = fieldOf(value, "error");
  const type = textOf(error, "type");
  const promptTokens = numberOf(error, "n_prompt_tokens");
  const contextTokens = numberOf(error, "n_ctx");
  if (type === "exceed_context_size_error" && promptTokens !== undefined && contextTokens !== undefined) {
    return new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
  }
  // A request may have a grammar and images; only the engine's words tell which of them it means.
  const isOfImage = asked.hasImages === true && /\bimage\b/iu.test(textOf(error, "message") ?? "");
  if (status === 400 && asked.isConstrained === true && !isOfImage) {
    return new FailureError<EngineFailure>({ kind: "grammar-invalid", reason: "The engine cannot read it" });
  }
  if (asked.hasImages === true) return new FailureError<EngineFailure>({ kind: "image-unreadable" });
  return new Error(`Cannot finish in the engine: it answered ${status} ${textOf(error, "message") ?? ""}`);
}
