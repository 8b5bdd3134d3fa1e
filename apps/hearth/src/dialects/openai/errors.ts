/**
 * @module
 * The chat-completions family, OpenAI's: its requests into our words, our events and failures into its own.
 * Promises one final chunk or one error on every stream, tool calls numbered from zero without gaps, and the
 * codes that clients and gateways decide on. Knows nothing of the other families.
 * Imported by `routes.ts` and `server.ts`.
 */
import { type CallHead, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { asRequestFailure } from "../../failures.ts";
import type { Family } from "../../protocol.ts";
import { tellFailure } from "./map-failure.ts";

/** What this family's clients find under `error`. */
type WireError = {
  readonly message: string;
  readonly type: "invalid_request_error" | "server_error";
  readonly param: string | null;
  readonly code: string | null;
};

export type WireFailure = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: WireError;
};

export const openaiFamily: Family = { name: "openai", answerFailure };

function answerFailure(problem: unknown, head: CallHead): WholeAnswer {
  const { status, headers, error } = wireFailureOf(problem, head);
  const answer = jsonAnswer({ error }, status);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** Names the problem for the client, and for the log by its kind. */
export function wireFailureOf(problem: unknown, head: Pick<CallHead, "note" | "requestId">): WireFailure {
  const failure = asRequestFailure(problem);
  head.note({ failure: failure.kind });
  const { status, message, code, param, headers } = tellFailure(failure, head.requestId);
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return {
    status,
    headers: headers ?? {},
    error: { message, type, param: param ?? null, code: code ?? null },
  };
}
