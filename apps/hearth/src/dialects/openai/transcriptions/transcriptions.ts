/**
 * @module
 * `POST /v1/audio/transcriptions`: an audio file in, its words out, complete or as a stream. A chat with the audio and an
 * instruction, as in llama.cpp's own server, so it needs a model that hears audio and not a special one.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse, textResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import type { GenerationEvent } from "../../../generation/events.ts";
import { runGeneration } from "../../../generation/run-generation.ts";
import { requireCapability, resolveModel } from "../resolve-model.ts";
import type { TokenUsage } from "../response-fields.ts";
import { streamResponse } from "../stream-response.ts";
import { readForm } from "./read-form.ts";
import { readRequest } from "./read-request.ts";

export async function handleTranscriptions(
  request: HearthRequest,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const form = readForm(request);
  const { addLogFields } = request;
  const model = await resolveModel({ body: form, addLogFields }, dependencies, "completion");
  requireCapability(model, form.model, "audio");
  const generation = readRequest(form, model, request.actor);
  const events = runGeneration(generation, dependencies, request);
  if (form.isStream) return streamResponse(streamEvents(events), request);
  const { text, usage } = await joinText(events);
  addLogFields({ outputTokens: usage.outputTokens });
  return form.format === "text"
    ? textResponse(`${text}\n`)
    : jsonResponse({ text, usage: writeUsage(usage) });
}

async function* streamEvents(events: AsyncIterable<GenerationEvent>): AsyncGenerator<object> {
  let text = "";
  for await (const event of events) {
    if (event.type === "text-delta" && event.text !== "") {
      text += event.text;
      yield { type: "transcript.text.delta", delta: event.text };
    } else if (event.type === "generation-end") {
      yield { type: "transcript.text.done", text, usage: writeUsage(event.usage) };
    }
  }
}

async function joinText(events: AsyncIterable<GenerationEvent>) {
  let text = "";
  let usage: TokenUsage | undefined;
  for await (const event of events) {
    if (event.type === "text-delta") text += event.text;
    else if (event.type === "generation-end") usage = event.usage;
  }
  if (usage === undefined) throw new Error("The generation ended without a generation-end event");
  return { text, usage };
}

function writeUsage({ promptTokens, outputTokens }: TokenUsage) {
  return {
    type: "tokens",
    input_tokens: promptTokens,
    output_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
  };
}
