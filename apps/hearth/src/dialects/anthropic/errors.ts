import { type CallHead, jsonAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { asRequestFailure, type RequestFailure } from "../../failures.ts";
import type { Family } from "../../protocol.ts";
import { explainFailure } from "./map-failure.ts";
import { frame } from "./message-events.ts";

export const anthropicFamily: Family = { name: "anthropic", answerFailure };

function answerFailure(problem: unknown, head: CallHead): WholeAnswer {
  const failure = asRequestFailure(problem);
  const { status, headers } = explainFailure(failure);
  head.note({ failure: failure.kind });
  const whole = jsonAnswer(errorBody(failure, head), status);
  return { ...whole, headers: { ...whole.headers, ...headers, ...requestIdHeader(head) } };
}

/** The last event of a stream that cannot go on; official clients throw it. */
export function endStreamFailed(problem: unknown, head: CallHead): string {
  const failure = asRequestFailure(problem);
  head.note({ failure: failure.kind });
  return frame(errorBody(failure, head));
}

/** Under the name that this family's clients read it by; the log has the same id without its prefix. */
export function requestIdHeader({ requestId }: CallHead): { readonly "request-id": string } {
  return { "request-id": `req_${requestId}` };
}

function errorBody(failure: RequestFailure, head: CallHead) {
  const { type, message } = explainFailure(failure);
  return {
    type: "error",
    error: { type, message },
    request_id: requestIdHeader(head)["request-id"],
  } as const;
}
