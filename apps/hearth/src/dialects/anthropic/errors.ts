/**
 * @module
 * The Anthropic API: messages, token counts and models. `messages/read-request.ts` translates requests, and
 * `messages/write-response.ts` and `messages/stream-events.ts` translate generation events. Stream events come in the
 * order that the official clients require. Features of Anthropic's own servers are dropped and logged.
 * Imported by `routes.ts` and `server.ts`.
 */
import { type BufferedResponse, jsonResponse, type RequestHead } from "@hearth-and-keep/http-service";
import { type RequestFailure, toRequestFailure } from "../../failures.ts";
import type { Protocol } from "../../protocol.ts";
import { mapFailure } from "./map-failure.ts";

export const anthropicProtocol: Protocol = { name: "anthropic", errorResponse };

function errorResponse(error: unknown, head: RequestHead): BufferedResponse {
  const failure = logFailure(error, head);
  const { status, headers } = mapFailure(failure);
  const response = jsonResponse(errorBody(failure, head), status);
  return { ...response, headers: { ...response.headers, ...headers, ...requestIdHeader(head) } };
}

/** The last event of a stream that failed; official clients throw it. */
export function errorEvent(error: unknown, head: RequestHead): ReturnType<typeof errorBody> {
  return errorBody(logFailure(error, head), head);
}

/** The header that Anthropic's clients read the request id from; the log has the same id without the prefix. */
export function requestIdHeader({ requestId }: RequestHead): { readonly "request-id": string } {
  return { "request-id": `req_${requestId}` };
}

function logFailure(error: unknown, head: RequestHead): RequestFailure {
  const failure = toRequestFailure(error);
  head.addLogFields({ failure: failure.kind });
  return failure;
}

function errorBody(failure: RequestFailure, head: RequestHead) {
  const { type, message, details } = mapFailure(failure);
  return {
    type: "error",
    error: { type, message, ...(details === undefined ? {} : { details }) },
    request_id: requestIdHeader(head)["request-id"],
  } as const;
}
