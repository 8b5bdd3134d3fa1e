import { type HttpResponse, jsonResponse, type StreamedResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { invalidField } from "../../../failures.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import { runGeneration } from "../../../generation/run-generation.ts";
import { resolveSampling } from "../../../generation/sampling.ts";
import { readImages } from "../../../images/read-images.ts";
import { mapError } from "../errors.ts";
import { requireCapability, resolveModel } from "../resolve-model.ts";
import { createId } from "./output-item.ts";
import { imageSources } from "./read-items.ts";
import { readRequest } from "./read-request.ts";
import { type ResponseStore, storedResponsesFlag } from "./response-store.ts";
import type { InputItem, ResponsesRequest } from "./schema.ts";
import { type ResponseEvent, ResponseWriter } from "./stream-events.ts";
import { readTools } from "./tool-names.ts";

/** Without a response store, responses are not stored and cannot be continued. */
export type ResponsesDependencies = Pick<
  HearthDependencies,
  "models" | "scheduler" | "metrics" | "fetchImage"
> & {
  readonly responses?: ResponseStore;
};

export async function handleResponses(
  request: HearthRequest<ResponsesRequest>,
  dependencies: ResponsesDependencies,
): Promise<HttpResponse> {
  const { writer, events } = await startResponse(request, dependencies);
  if (request.body.stream === true) return streamResponse(request, writer, events);
  await drain(events);
  return jsonResponse(writer.response);
}

type StartedResponse = { readonly writer: ResponseWriter; readonly events: AsyncIterable<ResponseEvent> };

/** Validates the whole request before it is queued. */
async function startResponse(
  request: HearthRequest<ResponsesRequest>,
  dependencies: ResponsesDependencies,
): Promise<StartedResponse> {
  const { body, actor, signal } = request;
  const { fetchImage } = dependencies;
  const model = await resolveModel(request, dependencies, "completion");
  const previous = findPreviousItems(request, dependencies.responses);
  const own = readInput(body);
  const toolSet = readTools(body.tools ?? []);
  const items = { previous, own };
  const sources = imageSources(items);
  if (sources.length > 0) requireCapability(model, body.model, "vision");
  const images = await readImages(sources, { signal, fetchImage });
  const generation = readRequest(body, { model, items, toolSet, actor, images });
  const { sampling } = resolveSampling(generation.sampling, model.parameters.values);
  const store = body.store === false ? undefined : dependencies.responses;
  const writer = new ResponseWriter({
    frame: {
      id: createId("resp"),
      createdAt: new Date(),
      request: body,
      temperature: sampling.temperature,
      topP: sampling.topP,
      isStored: store !== undefined,
    },
    nameOf: toolSet.nameOf,
  });
  const generated = runGeneration(generation, dependencies, request);
  const save = (): void => {
    const { id, output } = writer.response;
    store?.save(actor.keyName, id, [...previous, ...own, ...output]);
  };
  return { writer, events: streamEvents(generated, writer, save) };
}

function findPreviousItems(
  { body, actor }: HearthRequest<ResponsesRequest>,
  store: ResponseStore | undefined,
): readonly InputItem[] {
  const id = body.previous_response_id ?? undefined;
  if (id === undefined) return [];
  const field = "previous_response_id";
  if (store === undefined) {
    throw invalidField(field, `requires stored responses; start the server with ${storedResponsesFlag}`);
  }
  const items = store.find(actor.keyName, id);
  if (items === undefined) throw invalidField(field, `is "${id}", but no such response is stored`);
  return items;
}

function readInput({ input }: ResponsesRequest): readonly InputItem[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

async function* streamEvents(
  generated: AsyncIterable<GenerationEvent>,
  writer: ResponseWriter,
  save: () => void,
): AsyncGenerator<ResponseEvent> {
  for await (const event of generated) {
    const events = writer.write(event);
    // Saved before the last event is sent, because a client may continue the response immediately.
    if (event.type === "generation-end") save();
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
    chunks: writeChunks(events),
    keepAliveChunk: ":\n\n",
    formatError: (error) => writer.fail(mapError(error, request)).map(writeEvent).join(""),
  };
}

/** The writer accumulates the response. */
async function drain(events: AsyncIterable<ResponseEvent>): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

async function* writeChunks(events: AsyncIterable<ResponseEvent>): AsyncGenerator<string> {
  for await (const event of events) yield writeEvent(event);
}

function writeEvent(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
