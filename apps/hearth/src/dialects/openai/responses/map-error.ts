import type { RequestHead } from "@hearth-and-keep/http-service";
import { toRequestFailure } from "../../../failures.ts";
import type { Protocol } from "../../../protocol.ts";
import { mapError as mapOpenAIError, openaiProtocol, type WireFailure, writeFailure } from "../errors.ts";

/** The OpenAI API with the error codes that agents of the Responses API branch on. */
export const responsesProtocol: Protocol = {
  ...openaiProtocol,
  errorResponse: (error, head) => writeFailure(mapError(error, head)),
};

type ErrorHead = Pick<RequestHead, "addLogFields" | "requestId">;

/** Codex retries most errors at once, but ends the turn on this code; retrying makes a full queue longer. */
function mapError(error: unknown, head: ErrorHead): WireFailure {
  const mapped = mapOpenAIError(error, head);
  if (toRequestFailure(error).kind !== "queue-full") return mapped;
  return { ...mapped, error: { ...mapped.error, code: "server_is_overloaded" } };
}

/** The error of a stream that has started. Codex waits for the time in the message if the code is this one. */
export function mapStreamError(error: unknown, head: ErrorHead): WireFailure {
  const mapped = mapOpenAIError(error, head);
  const seconds = mapped.headers["retry-after"];
  // A budget is used up for hours, so there is nothing to wait for.
  if (seconds === undefined || mapped.error.code === "insufficient_quota") return mapped;
  const message = `${mapped.error.message}; try again in ${seconds}s`;
  return { ...mapped, error: { ...mapped.error, code: "rate_limit_exceeded", message } };
}

/**
 * Agents learn that the context is full from a failed response only, and compact the conversation then. As an HTTP error
 * it would end the session.
 */
export function isContextFull(error: unknown): boolean {
  return toRequestFailure(error).kind === "prompt-too-long";
}
