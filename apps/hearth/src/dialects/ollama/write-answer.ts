import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { type AnswerEvent, type AnswerRequest, answerRequest } from "../../generation/answer-request.ts";
import { noteAnswer } from "../../generation/note-answer.ts";
import { type AnswerPart, emptyPart, PartReader, writeProbabilities } from "./response-chunks.ts";
import { answerStream } from "./streaming.ts";

/** What generate and chat each decide for themselves. */
export type WrittenAnswer = {
  readonly requestedName: string;
  readonly request: AnswerRequest;
  readonly isStreamed: boolean;
  /** A part in the endpoint's own shape. */
  readonly shape: (part: AnswerPart) => Readonly<Record<string, unknown>>;
  /** What the last object tells besides, made from the whole answer. */
  readonly ending?: (whole: AnswerPart) => Readonly<Record<string, unknown>>;
};

/** Oldest messages that did not fit and were left out. */
const truncatedHeader = "x-context-truncated";

export async function writeAnswer(
  call: HearthCall,
  { scheduler }: Pick<HearthParts, "scheduler">,
  written: WrittenAnswer,
): Promise<Answer> {
  call.note({ model: written.request.model.name });
  const events = noteAnswer(answerRequest(scheduler, written.request, call.signal), call);
  // Filled before the first object is there, and read only then.
  const headers: Record<string, string> = {};
  const objects = writeObjects(events, written, headers);
  if (written.isStreamed) return answerStream(call, objects, headers);
  let last: unknown;
  for await (const object of objects) last = object;
  const answer = jsonAnswer(last);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

async function* writeObjects(
  events: AsyncIterable<AnswerEvent>,
  written: WrittenAnswer,
  headers: Record<string, string>,
): AsyncGenerator {
  const startedAt = performance.now();
  const reader = new PartReader();
  let loadMilliseconds = 0;
  for await (const event of events) {
    if (event.type === "answer-start") {
      ({ loadMilliseconds } = event);
      if (event.droppedMessages > 0) headers[truncatedHeader] = String(event.droppedMessages);
    }
    if (event.type === "generation-end") {
      const totalMilliseconds = performance.now() - startedAt;
      yield writeLast(reader.whole(), written, { ...event, totalMilliseconds, loadMilliseconds });
    }
    const part = reader.read(event);
    if (part !== undefined && written.isStreamed) yield writePart(part, written);
  }
}

function writePart(part: AnswerPart, written: WrittenAnswer): unknown {
  return { ...writeHead(part, written), done: false, ...probabilitiesOf(part, written) };
}

function writeHead(part: AnswerPart, { requestedName, shape }: WrittenAnswer) {
  return { model: requestedName, created_at: new Date().toISOString(), ...shape(part) };
}

function probabilitiesOf({ tokens }: AnswerPart, { request }: WrittenAnswer) {
  if (request.logProbabilities === undefined || tokens.length === 0) return {};
  return { logprobs: writeProbabilities(tokens, request.logProbabilities) };
}

type Ending = Extract<AnswerEvent, { type: "generation-end" }> & {
  readonly totalMilliseconds: number;
  readonly loadMilliseconds: number;
};

/** Streamed, the last object adds figures to what came before; otherwise it is the whole answer. */
function writeLast(whole: AnswerPart, written: WrittenAnswer, end: Ending): unknown {
  const part = written.isStreamed ? emptyPart : whole;
  return {
    ...writeHead(part, written),
    done: true,
    done_reason: end.reason === "length" ? "length" : "stop",
    ...written.ending?.(whole),
    ...probabilitiesOf(part, written),
    ...writeFigures(end),
  };
}

function writeFigures({ usage, timings, totalMilliseconds, loadMilliseconds }: Ending) {
  return {
    ...duration("total_duration", totalMilliseconds),
    ...duration("load_duration", loadMilliseconds),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_cached_count: usage.cachedTokens,
    ...duration("prompt_eval_duration", timings.promptMilliseconds),
    eval_count: usage.outputTokens,
    ...duration("eval_duration", timings.outputMilliseconds),
  };
}

/** In nanoseconds; one of zero is left out. */
export function duration(name: string, milliseconds: number): Readonly<Record<string, number>> {
  const nanoseconds = Math.round(milliseconds * 1e6);
  return nanoseconds === 0 ? {} : { [name]: nanoseconds };
}
