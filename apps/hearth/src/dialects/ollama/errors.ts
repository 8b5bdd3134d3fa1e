import { type CallHead, jsonAnswer, textAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import { asRequestFailure, isHangUp, type RequestFailure } from "../../failures.ts";
import type { Family } from "../../protocol.ts";
import { type FailureWords, wordsFor } from "./map-failure.ts";

export const ollamaFamily: Family = { name: "ollama", answerFailure };

/** The family's error body is always one string under `error`; the cause stays in our log. */
function answerFailure(problem: unknown, head: CallHead): WholeAnswer {
  const failure = noteFailure(problem, head);
  const words = describe(problem, failure, head);
  // Paths that are not there are answered by the router of the original, which knows no JSON.
  const isOfRouter = failure.kind === "no-such-route" || failure.kind === "method-not-allowed";
  const answer = isOfRouter ? textAnswer(words.text) : jsonAnswer({ error: words.text });
  return { ...answer, status: words.status, headers: { ...answer.headers, ...words.headers } };
}

/** The last object of a stream that broke; clients throw its text and wait for no `done`. */
export function failureObject(problem: unknown, head: CallHead): { readonly error: string } {
  return { error: describe(problem, noteFailure(problem, head), head).text };
}

function noteFailure(problem: unknown, head: CallHead): RequestFailure {
  const failure = asRequestFailure(problem);
  head.note({ failure: isHangUp(problem) ? "hung-up" : failure.kind });
  return failure;
}

function describe(problem: unknown, failure: RequestFailure, head: CallHead): FailureWords {
  // Nobody reads it any more; the status is for the log.
  if (isHangUp(problem)) return { status: 499, text: "request canceled" };
  return wordsFor(failure, head);
}
