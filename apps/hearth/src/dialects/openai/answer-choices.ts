import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { type AnswerEvent, type AnswerRequest, answerRequest } from "../../generation/answer-request.ts";
import { noteAnswer } from "../../generation/note-answer.ts";

/**
 * One answer for each of the choices that were asked for, to be read one after another: each waits in the line
 * anew, so that one caller with many choices does not take every place, and the prompt is cached after the first.
 */
export function* answerChoices(
  request: AnswerRequest,
  count: number,
  { call, parts }: { readonly call: HearthCall; readonly parts: HearthParts },
): Generator<AsyncIterable<AnswerEvent>> {
  for (let index = 0; index < count; index += 1) {
    const events = answerRequest(parts.scheduler, withOwnSeed(request, index), call.signal);
    yield noteAnswer(events, call);
  }
}

/** The same seed would give the same answer each time. */
function withOwnSeed(request: AnswerRequest, index: number): AnswerRequest {
  const seed = request.sampling.seed ?? request.model.parameters.values.seed ?? -1;
  if (index === 0 || seed < 0) return request;
  return { ...request, sampling: { ...request.sampling, seed: seed + index } };
}
