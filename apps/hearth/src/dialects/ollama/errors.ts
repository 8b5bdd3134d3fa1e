import { type ErrorBody, errorCodeHeader } from "@hearth-and-keep/hearth-contract";
import {
  type BufferedResponse,
  jsonResponse,
  type RequestHead,
  textResponse,
} from "@hearth-and-keep/http-service";
import { isClientDisconnect, toRequestFailure } from "../../failures.ts";
import type { Protocol } from "../../protocol.ts";
import { mapFailure } from "./map-failure.ts";

export const ollamaProtocol: Protocol = { name: "ollama", errorResponse };

/** Ollama's error body is one string under `error`; `code` and its details are ours. The cause goes to the log only. */
function errorResponse(error: unknown, head: RequestHead): BufferedResponse {
  // The client is gone; the status is for the log.
  if (isClientDisconnect(error)) return jsonResponse(toErrorLine(error, head), 499);
  const failure = toRequestFailure(error);
  head.addLogFields({ failure: failure.kind });
  const { status, message, code, details, headers } = mapFailure(failure, head);
  const response = isPlainText(code, head)
    ? textResponse(message)
    : jsonResponse({ error: message, code, ...details } satisfies ErrorBody);
  return {
    ...response,
    status,
    headers: {
      ...response.headers,
      ...headers,
      ...(head.method === "HEAD" ? { [errorCodeHeader]: code } : {}),
    },
  };
}

/** The last object of a stream that fails; clients throw its text and expect no `done` after it. */
export function toErrorLine(error: unknown, head: RequestHead): ErrorBody | { readonly error: string } {
  const failure = toRequestFailure(error);
  const hasLeft = isClientDisconnect(error);
  head.addLogFields({ failure: hasLeft ? "client-disconnected" : failure.kind });
  if (hasLeft) return { error: "request canceled" };
  const { message, code, details } = mapFailure(failure, head);
  return { error: message, code, ...details };
}

/** Outside of the API, unknown routes get the plain text of Ollama's router. */
function isPlainText(code: ErrorBody["code"], { path }: RequestHead): boolean {
  return (code === "route-not-found" || code === "method-not-allowed") && !path.startsWith("/api/");
}
