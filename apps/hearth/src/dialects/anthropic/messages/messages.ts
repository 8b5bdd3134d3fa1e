/**
 * @module
 * `POST /v1/messages` and its token counts. A request becomes a conversation, and generation events become content
 * blocks. A complete message is assembled from the same events as a stream, so both always agree.
 * Imported by `routes.ts`.
 */
import { isJsonObject } from "@hearth-and-keep/engine";
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { requestFailure } from "../../../failures.ts";
import { runGeneration } from "../../../generation/run-generation.ts";
import { requestIdHeader } from "../errors.ts";
import type { MessagesBody } from "../schema.ts";
import { streamResponse } from "../stream-response.ts";
import type { MessageEvent } from "./event-types.ts";
import {
  isThinkingRequested,
  readPrompt,
  readReasoningLimit,
  readSampling,
  stopsOf,
} from "./read-request.ts";
import { refuseServerTool } from "./refuse-server-tool.ts";
import { type MessageOptions, streamEvents } from "./stream-events.ts";
import { writeResponse } from "./write-response.ts";

/** Clients with this beta header know the stop reason of that name; others get `max_tokens`. */
const fullContextBeta = "model-context-window-exceeded";

export async function handleMessages(
  request: HearthRequest<MessagesBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const events = await generateEvents(request, dependencies);
  if (request.body.stream === true) return streamResponse(events, request);
  const response = jsonResponse(await writeResponse(events));
  return { ...response, headers: { ...response.headers, ...requestIdHeader(request) } };
}

async function generateEvents(
  request: HearthRequest<MessagesBody>,
  dependencies: HearthDependencies,
): Promise<AsyncIterable<readonly MessageEvent[]>> {
  const { body } = request;
  rejectContinuedThread(body);
  const { requiredServerTool, ...prompt } = await readPrompt(request, dependencies);
  if (requiredServerTool !== undefined) return refuseServerTool(requiredServerTool, body.model);
  const settings = { sampling: readSampling(body), ...readReasoningLimit(body), overflow: "reject" } as const;
  const generation = { ...prompt, ...settings };
  return streamEvents(runGeneration(generation, dependencies, request), readOptions(request));
}

/**
 * Threads are not stored, so a new one is ignored. A continued one has only the newest messages: without the others the
 * model would invent an answer, while the error makes official clients send them all.
 */
function rejectContinuedThread(body: object): void {
  const thread = "thread" in body && isJsonObject(body.thread) ? body.thread : {};
  if (thread["type"] !== "continue") return;
  const reason = "not found; this server stores no threads, so send the whole conversation";
  throw requestFailure({ kind: "stored-object-not-found", object: "thread", field: "thread", reason });
}

function readOptions({ body, headers }: HearthRequest<MessagesBody>): MessageOptions {
  const requested = body.thinking?.display === "omitted" ? "empty" : "shown";
  return {
    model: body.model,
    thinking: isThinkingRequested(body) === false ? "hidden" : requested,
    maxTokens: body.max_tokens,
    stops: stopsOf(body),
    knowsFullContext: String(headers["anthropic-beta"] ?? "").includes(fullContextBeta),
  };
}
