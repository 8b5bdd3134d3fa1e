/**
 * @module
 * `POST /v1/chat/completions`: a conversation in, one or more choices out, complete or as chunks.
 * A failure before the first output still has its own HTTP status, because nothing is sent until then.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { generateChoices } from "../generate-choices.ts";
import { resolveModel } from "../resolve-model.ts";
import { writeResponseHead } from "../response-fields.ts";
import type { ChatCompletionsBody } from "../schema.ts";
import { streamResponse } from "../stream-response.ts";
import { readRequest } from "./read-request.ts";
import { streamEvents } from "./stream-events.ts";
import { writeResponse } from "./write-response.ts";

export async function handleChatCompletions(
  request: HearthRequest<ChatCompletionsBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body } = request;
  const model = await resolveModel(request, dependencies, "completion");
  const generation = await readRequest(request, model, dependencies);
  const choices = generateChoices(generation, body.n ?? 1, { request, dependencies });
  if (body.stream === true) {
    const head = writeResponseHead(model, {
      prefix: "chatcmpl",
      object: "chat.completion.chunk",
      model: body.model,
    });
    return streamResponse(streamEvents(choices, head, request), request);
  }
  const head = writeResponseHead(model, { prefix: "chatcmpl", object: "chat.completion", model: body.model });
  return jsonResponse({ ...head, ...(await writeResponse(choices, request)) });
}
