import { type HttpResponse, jsonResponse, type StreamedResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../../dependencies.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import { runGeneration } from "../../../generation/run-generation.ts";
import { resolveSampling } from "../../../generation/sampling.ts";
import { summarySealOf } from "./compaction.ts";
import type { LoadedItems } from "./load-items.ts";
import { isContextFull, mapStreamError } from "./map-error.ts";
import { createId } from "./output-item.ts";
import {
  type PreparedResponse,
  prepareResponse,
  type ResponsesDependencies,
  type ResponsesHttpRequest,
} from "./prepare-response.ts";
import type { ResponsesRequest } from "./schema.ts";
import { appendTurn } from "./stored-conversations.ts";
import { toStoredItem } from "./stored-record.ts";
import { saveResponse, toStoredOutput } from "./stored-responses.ts";
import { type ResponseEvent, ResponseWriter } from "./stream-events.ts";
import type { ResponseObject } from "./write-response.ts";

export async function handleResponses(
  request: HearthRequest<ResponsesRequest>,
  dependencies: ResponsesDependencies,
): Promise<HttpResponse> {
  const { writer, events } = await startResponse(request, dependencies);
  if (request.body.stream === true) return streamResponse(request, writer, events);
  await drain(events);
  return jsonResponse(writer.response);
}

type StartedResponse = {
  readonly writer: ResponseWriter;
  readonly events: AsyncIterable<ResponseEvent>;
  readonly items: LoadedItems;
};

/** Validates the whole request before it is queued. */
export async function startResponse(
  request: ResponsesHttpRequest,
  dependencies: ResponsesDependencies,
): Promise<StartedResponse> {
  const { body, actor } = request;
  const { reasoningSeal } = dependencies;
  const prepared = await prepareResponse(request, dependencies);
  const { generation, toolSet, records, items } = prepared;
  const { sampling } = resolveSampling(generation.sampling, generation.model.parameters.values);
  const isSealed = body.include?.includes("reasoning.encrypted_content") === true;
  const isStored = body.store !== false && records !== undefined;
  const writer = new ResponseWriter({
    frame: {
      id: createId("resp"),
      createdAt: new Date(),
      request: body,
      temperature: sampling.temperature,
      topP: sampling.topP,
      isStored,
    },
    toolOf: toolSet.toolOf,
    ...(isSealed ? { sealReasoning: (text) => reasoningSeal.seal(actor.keyName, text) } : {}),
    ...(items.isCompaction ? { sealSummary: summarySealOf(reasoningSeal, actor.keyName).seal } : {}),
  });
  const generated = runGeneration(generation, dependencies, request);
  const save = async (): Promise<void> => {
    if (isStored) await store(writer.response, prepared);
  };
  return { writer, events: streamEvents(generated, writer, save), items };
}

async function store(response: ResponseObject, { records, items }: PreparedResponse): Promise<void> {
  if (records === undefined) return;
  const input = items.sent.map(toStoredItem);
  saveResponse(records, { response, input });
  if (items.conversationId !== undefined) {
    appendTurn(records, items.conversationId, [...input, ...toStoredOutput(response.output)]);
  }
  await records.flush();
}

async function* streamEvents(
  generated: AsyncIterable<GenerationEvent>,
  writer: ResponseWriter,
  save: () => Promise<void>,
): AsyncGenerator<ResponseEvent> {
  for await (const event of generated) {
    const events = writer.write(event);
    // Saved before the last event is sent, because a client may continue the response immediately.
    if (event.type === "generation-end") await save();
    yield* events;
  }
}

function streamResponse(
  request: HearthRequest<ResponsesRequest>,
  writer: ResponseWriter,
  events: AsyncIterable<ResponseEvent>,
): StreamedResponse {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    chunks: writeChunks(endWithFailure(events, writer, request)),
    keepAliveChunk: ":\n\n",
    formatComment: (text) => `: ${text}\n\n`,
    formatError: (error) => writer.fail(mapStreamError(error, request)).map(writeEvent).join(""),
  };
}

async function* endWithFailure(
  events: AsyncIterable<ResponseEvent>,
  writer: ResponseWriter,
  request: HearthRequest<ResponsesRequest>,
): AsyncGenerator<ResponseEvent> {
  try {
    yield* events;
  } catch (error) {
    if (!isContextFull(error)) throw error;
    yield* writer.fail(mapStreamError(error, request));
  }
}

/** The writer accumulates the response. */
export async function drain(events: AsyncIterable<ResponseEvent>): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

async function* writeChunks(events: AsyncIterable<ResponseEvent>): AsyncGenerator<string> {
  for await (const event of events) yield writeEvent(event);
}

function writeEvent(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
