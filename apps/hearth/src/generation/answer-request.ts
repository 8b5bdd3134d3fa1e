import type { Conversation, GenerateRequest, Message, OutputConstraint } from "@hearth-and-keep/engine";
import type { ModelDescription } from "../models/metadata/describe-model.ts";
import type { KeepAlive } from "../scheduling/keep-alive.ts";
import type { Lease } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";
import type { GenerationEvent } from "./events.ts";
import { fitConversation } from "./fit-conversation.ts";
import { generate } from "./generate.ts";
import { wishFor } from "./load-request.ts";
import type { ToolChoice } from "./request.ts";
import { type SamplingWishes, settleSampling } from "./sampling.ts";

/** What a dialect asks for, translated out of its own words and checked. */
export type AnswerRequest = {
  readonly model: ModelDescription;
  readonly input: GenerateRequest["input"];
  readonly sampling: SamplingWishes;
  readonly toolChoice: ToolChoice;
  readonly constraint?: OutputConstraint;
  readonly logProbabilities?: number;
  readonly contextTokens?: number;
  readonly keepAlive?: KeepAlive;
  readonly cachePartition: string;
  /** What happens to a conversation that is longer than the context. */
  readonly overflow: "refuse" | "drop-oldest";
};

/** The first event of every answer: what was found out before the engine began. */
type AnswerStart = {
  readonly type: "answer-start";
  readonly contextTokens: number;
  readonly loadMilliseconds: number;
  readonly queueMilliseconds: number;
  /** The oldest messages that did not fit and were left out. */
  readonly droppedMessages: number;
  /** The seed that was used, chosen by us when nobody gave one. */
  readonly seed: number;
};

export type AnswerEvent = AnswerStart | GenerationEvent;

/** The way of every answer, whatever the family: wait for the model, fit the conversation, generate, give it back. */
export async function* answerRequest(
  scheduler: Scheduler,
  request: AnswerRequest,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const settled = settleSampling(request.sampling, request.model.parameters.values);
  using lease = await scheduler.lend(wishFor(request, "generate"), signal);
  const { input, droppedMessages } = await fitInput(lease, withModelTurns(request), signal);
  yield {
    type: "answer-start",
    contextTokens: lease.contextTokens,
    loadMilliseconds: lease.loadMilliseconds,
    queueMilliseconds: lease.queueMilliseconds,
    droppedMessages,
    seed: settled.sampling.seed,
  };
  const { toolChoice, constraint, logProbabilities, cachePartition } = request;
  const optional = {
    ...(constraint === undefined ? {} : { constraint }),
    ...(logProbabilities === undefined ? {} : { logProbabilities }),
  };
  yield* generate(lease.engine, { ...settled, input, toolChoice, cachePartition, ...optional }, signal);
}

type FittedInput = { readonly input: GenerateRequest["input"]; readonly droppedMessages: number };

async function fitInput(
  lease: Lease,
  { input, overflow }: AnswerRequest,
  signal: AbortSignal,
): Promise<FittedInput> {
  if (input.type !== "conversation" || overflow === "refuse") return { input, droppedMessages: 0 };
  const { conversation, droppedMessages } = await fitConversation(lease, input.conversation, signal);
  return { input: { ...input, conversation }, droppedMessages };
}

/** A model's own system text stands where the request has none, and its example turns before the request's. */
export function withModelTurns<Request extends Pick<AnswerRequest, "model" | "input">>(
  request: Request,
): Request {
  const { input, model } = request;
  if (input.type !== "conversation") return request;
  const conversation = addModelTurns(input.conversation, model);
  return { ...request, input: { ...input, conversation } };
}

function addModelTurns(conversation: Conversation, { system, messages }: ModelDescription): Conversation {
  const own = conversation.messages.filter(({ role }) => role === "system");
  const rest = conversation.messages.filter(({ role }) => role !== "system");
  const ofModel: readonly Message[] =
    system === null || own.length > 0 ? [] : [{ role: "system", content: system }];
  if (ofModel.length + messages.length === 0) return conversation;
  return { ...conversation, messages: [...ofModel, ...own, ...messages, ...rest] };
}
