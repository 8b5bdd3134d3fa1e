/**
 * @module
 * The messages family, Anthropic's protocol: messages whole and streamed, an exact count of a prompt's tokens, the
 * list of models, and every failure in its words. Requests become conversations and answers become blocks; what only
 * the vendor's own servers can do is left out and told in the log. Promises the order of stream events that
 * the official clients insist on. Imported by `routes.ts` and `server.ts`.
 */
import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { type AnswerEvent, answerRequest } from "../../generation/answer-request.ts";
import { noteAnswer } from "../../generation/note-answer.ts";
import { collectMessage } from "./collect-message.ts";
import { endStreamFailed, requestIdHeader } from "./errors.ts";
import { frame, type MessageEvent } from "./message-events.ts";
import { type MessagePlan, MessageWriter } from "./message-writer.ts";
import { readPrompt, readSampling, stopsOf } from "./read-request.ts";
import type { MessagesBody } from "./schema.ts";

/** Clients that send it know the stop reason of that name; to others a full context is a reached limit. */
const fullContextBeta = "model-context-window-exceeded";

export async function answerMessages(call: HearthCall<MessagesBody>, parts: HearthParts): Promise<Answer> {
  const prompt = await readPrompt(call, parts);
  const request = { ...prompt, sampling: readSampling(call.body), overflow: "refuse" } as const;
  const events = noteAnswer(answerRequest(parts.scheduler, request, call.signal), call);
  const plan = planMessage(call);
  if (call.body.stream !== true) {
    const message = await collectMessage(writeMessage(events, plan));
    const answer = jsonAnswer(message);
    return { ...answer, headers: { ...answer.headers, ...requestIdHeader(call) } };
  }
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", ...requestIdHeader(call) },
    pieces: writeFrames(events, plan),
    filler: frame({ type: "ping" }),
    endFailed: (problem) => endStreamFailed(problem, call),
  };
}

function planMessage({ body, headers }: HearthCall<MessagesBody>): MessagePlan {
  const { thinking } = body;
  const isAsked = thinking?.type === "enabled" || thinking?.type === "adaptive";
  const asked = thinking?.display === "omitted" ? "empty" : "shown";
  return {
    model: body.model,
    thinking: isAsked ? asked : "hidden",
    mostTokens: body.max_tokens,
    stops: stopsOf(body),
    knowsFullContext: String(headers["anthropic-beta"] ?? "").includes(fullContextBeta),
  };
}

async function* writeMessage(
  events: AsyncIterable<AnswerEvent>,
  plan: MessagePlan,
): AsyncGenerator<MessageEvent> {
  const writer = new MessageWriter(plan);
  for await (const event of events) yield* writer.take(event);
}

/** One piece for each event of the answer: what belongs together is written at once. */
async function* writeFrames(events: AsyncIterable<AnswerEvent>, plan: MessagePlan): AsyncGenerator<string> {
  const writer = new MessageWriter(plan);
  for await (const event of events) {
    const piece = writer.take(event).map(frame).join("");
    if (piece !== "") yield piece;
  }
}
