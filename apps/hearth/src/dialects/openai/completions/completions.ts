/**
 * @module
 * `POST /v1/completions`: prompts in, their continuations out, complete or as chunks. Prompts reach the model without a
 * chat template. Choices are numbered across all prompts of a request.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { generateChoices } from "../generate-choices.ts";
import { resolveModel } from "../resolve-model.ts";
import { writeResponseHead } from "../response-fields.ts";
import type { CompletionsBody } from "../schema.ts";
import { streamResponse } from "../stream-response.ts";
import { readPrompts, readRequest } from "./read-request.ts";
import { type PromptChoices, streamEvents, streamText } from "./stream-events.ts";
import { writeResponse } from "./write-response.ts";

export async function handleCompletions(
  request: HearthRequest<CompletionsBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body } = request;
  const model = await resolveModel(request, dependencies, "completion");
  const prompts = readPrompts(body).map((prompt): PromptChoices => {
    const generation = readRequest(request, model, prompt);
    return { prompt, choices: generateChoices(generation, body.n ?? 1, { request, dependencies }) };
  });
  const head = writeResponseHead(model, { prefix: "cmpl", object: "text_completion", model: body.model });
  const events = streamText(prompts, request);
  if (body.stream === true) return streamResponse(streamEvents(events, head, body), request);
  return jsonResponse({ ...head, ...(await writeResponse(events)) });
}
