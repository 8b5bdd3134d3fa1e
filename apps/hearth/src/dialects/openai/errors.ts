/**
 * @module
 * The OpenAI API: chat completions, completions, responses, embeddings and models. Each endpoint folder translates
 * requests in `read-request.ts` and generation events in `write-response.ts` and `stream-events.ts`.
 * Every stream ends with exactly one final chunk or one error, tool calls are numbered from zero without gaps, and
 * errors carry the codes that clients and gateways branch on. Imported by `routes.ts` and `server.ts`.
 */
import { type BufferedResponse, jsonResponse, type RequestHead } from "@hearth-and-keep/http-service";
import { toRequestFailure } from "../../failures.ts";
import type { Protocol } from "../../protocol.ts";
import { mapFailure } from "./map-failure.ts";

/** The `error` object of a response. */
type WireError = {
  readonly message: string;
  readonly type: "invalid_request_error" | "server_error" | "requests" | "tokens" | "insufficient_quota";
  readonly param: string | null;
  readonly code: string | null;
};

export type WireFailure = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: WireError;
};

export const openaiProtocol: Protocol = { name: "openai", errorResponse };

function errorResponse(error: unknown, head: RequestHead): BufferedResponse {
  return writeFailure(mapError(error, head));
}

export function writeFailure({ status, headers, error }: WireFailure): BufferedResponse {
  const response = jsonResponse({ error }, status);
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** Maps an error to its wire format, and logs its kind. */
export function mapError(error: unknown, head: Pick<RequestHead, "addLogFields" | "requestId">): WireFailure {
  const failure = toRequestFailure(error);
  head.addLogFields({ failure: failure.kind });
  const { status, message, code, param, headers, ...mapped } = mapFailure(failure, head.requestId);
  const type = mapped.type ?? (status < 500 ? "invalid_request_error" : "server_error");
  return {
    status,
    headers: headers ?? {},
    error: { message, type, param: param ?? null, code: code ?? null },
  };
}
