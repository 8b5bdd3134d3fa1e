import { type Answer, jsonAnswer, type StreamAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../../dependencies.ts";
import { type AnswerEvent, answerRequest } from "../../../generation/answer-request.ts";
import { noteAnswer } from "../../../generation/note-answer.ts";
import { settleSampling } from "../../../generation/sampling.ts";
import { readImages } from "../../../images/read-images.ts";
import { wireFailureOf } from "../errors.ts";
import { describeFor, requireCapability } from "../require-model.ts";
import { invalid } from "./invalid.ts";
import { createId } from "./output-item.ts";
import { imageSources } from "./read-items.ts";
import { readRequest } from "./read-request.ts";
import { keepResponsesSetting, type ResponseStore } from "./response-store.ts";
import { type ResponseEvent, ResponseWriter } from "./response-writer.ts";
import type { InputItem, ResponsesRequest } from "./schema.ts";
import { readTools } from "./tool-names.ts";

/** Without a store no response is kept, and none can be continued. */
export type ResponsesParts = Pick<HearthParts, "models" | "scheduler" | "fetchImage"> & {
  readonly responses?: ResponseStore;
};

type ResponsesCall = HearthCall<ResponsesRequest>;

export async function answerResponses(call: ResponsesCall, parts: ResponsesParts): Promise<Answer> {
  const { writer, events } = await begin(call, parts);
  if (call.body.stream === true) return streamAnswer(call, writer, events);
  await readThrough(events);
  return jsonAnswer(writer.response);
}

type Begun = { readonly writer: ResponseWriter; readonly events: AsyncIterable<ResponseEvent> };

/** Everything that can be refused at once is refused here, before anybody waits. */
async function begin(call: ResponsesCall, parts: ResponsesParts): Promise<Begun> {
  const { body, caller, signal } = call;
  const { fetchImage } = parts;
  const model = await describeFor(call, parts, "completion");
  const earlier = findEarlier(call, parts.responses);
  const own = ownItems(body);
  const toolSet = readTools(body.tools ?? []);
  const { cachePartition } = caller;
  const items = { earlier, own };
  const sources = imageSources(items);
  if (sources.length > 0) requireCapability(model, body.model, "vision");
  const images = await readImages(sources, { signal, fetchImage });
  const request = readRequest(body, { model, items, toolSet, cachePartition, images });
  const { sampling } = settleSampling(request.sampling, model.parameters.values);
  const store = body.store === false ? undefined : parts.responses;
  const writer = new ResponseWriter({
    frame: {
      id: createId("resp"),
      createdAt: new Date(),
      request: body,
      temperature: sampling.temperature,
      topP: sampling.topP,
      isKept: store !== undefined,
    },
    nameOf: toolSet.nameOf,
  });
  const answer = noteAnswer(answerRequest(parts.scheduler, request, call.signal), call);
  const keep = (): void => {
    const { id, output } = writer.response;
    store?.keep(caller.keyName, id, [...earlier, ...own, ...output]);
  };
  return { writer, events: writeEvents(answer, writer, keep) };
}

function findEarlier(
  { body, caller }: ResponsesCall,
  store: ResponseStore | undefined,
): readonly InputItem[] {
  const id = body.previous_response_id ?? undefined;
  if (id === undefined) return [];
  const place = "previous_response_id";
  if (store === undefined) {
    throw invalid(place, `needs a server that keeps responses: start it with ${keepResponsesSetting}`);
  }
  const earlier = store.find(caller.keyName, id);
  if (earlier === undefined) throw invalid(place, `names no response that is kept: "${id}"`);
  return earlier;
}

function ownItems({ input }: ResponsesRequest): readonly InputItem[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

async function* writeEvents(
  answer: AsyncIterable<AnswerEvent>,
  writer: ResponseWriter,
  keep: () => void,
): AsyncGenerator<ResponseEvent> {
  for await (const event of answer) {
    const events = writer.take(event);
    // Before its last event leaves, because a quick caller continues it at once.
    if (event.type === "generation-end") keep();
    yield* events;
  }
}

function streamAnswer(
  call: ResponsesCall,
  writer: ResponseWriter,
  events: AsyncIterable<ResponseEvent>,
): StreamAnswer {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    pieces: toPieces(events),
    filler: ":\n\n",
    endFailed: (problem) => writer.fail(wireFailureOf(problem, call)).map(toPiece).join(""),
  };
}

/** The writer remembers what they say. */
async function readThrough(events: AsyncIterable<ResponseEvent>): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

async function* toPieces(events: AsyncIterable<ResponseEvent>): AsyncGenerator<string> {
  for await (const event of events) yield toPiece(event);
}

function toPiece(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
