import type { Conversation, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type RequestFailure, requestFailure } from "../failures.ts";
import { ignoredHeader } from "../ignored-header.ts";
import type { ModelDescription } from "../models/metadata/describe-model.ts";
import { createLoadRequest } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";
import type { GenerationEvent, OutputEvent } from "./events.ts";
import { fitConversation } from "./fit-conversation.ts";
import { generate } from "./generate.ts";
import { GrowingLease } from "./growing-lease.ts";
import { reportIgnoredKeywords } from "./ignored-keywords.ts";
import { readAhead } from "./read-ahead.ts";
import type { GenerationRequest, ReasoningLimit } from "./request.ts";
import { type ResolvedSampling, resolveSampling } from "./sampling.ts";

type GenerationDependencies = {
  readonly scheduler: Pick<Scheduler, "acquire">;
  readonly metrics: { readonly countOutputChunk: () => void };
};

type LogFields = Readonly<Record<string, string | number>>;

/** What generation needs of the HTTP request. */
type ClientRequest = {
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Adds fields to the request's log line. */
  readonly addLogFields: (fields: LogFields) => void;
  /** Adds headers to the response, if none of it was sent yet. */
  readonly addResponseHeaders: (headers: Readonly<Record<string, string>>) => void;
};

/** Far more than a turn of a chat. */
const maxUnreadCharacters = 256 * 1024;

/**
 * Handles a generation request of any API: acquires a lease on the model, fits the conversation into its context,
 * generates, and releases the lease, even if the client reads slowly. Logs durations and token counts, never the text.
 */
export async function* runGeneration(
  request: GenerationRequest,
  { scheduler, metrics }: GenerationDependencies,
  client: ClientRequest,
): AsyncGenerator<GenerationEvent> {
  const startedAt = performance.now();
  const resolved = resolveSampling(request.sampling, request.model.parameters.values);
  const isConstrained = request.constraint !== undefined || request.toolChoice.type === "required";
  if (isConstrained) reportIgnoredKeywords(request, client);
  const loadRequest = createLoadRequest(request, "generate");
  const acquire = async (): Promise<GrowingLease> =>
    new GrowingLease(await scheduler.acquire(loadRequest, client.signal), (neededTokens) =>
      scheduler.acquire({ ...loadRequest, neededTokens }, client.signal),
    );
  let lease = await acquire();
  const run = (): AsyncGenerator<GenerationEvent> =>
    generateOnLease(request, { lease, resolved, metrics, startedAt }, client);
  const runAgain = async (): Promise<AsyncGenerator<GenerationEvent>> => {
    // Otherwise the scheduler may lease the dead engine again.
    await lease.engine.closed;
    lease = await acquire();
    return run();
  };
  yield* readAhead(repeatIfInterrupted(run(), runAgain), {
    sizeOf: countCharacters,
    maxSize: maxUnreadCharacters,
    onStall: () => {
      if (lease.current.isWanted()) throw requestFailure({ kind: "server-busy", retryAfterSeconds: 1 });
    },
  });
}

/**
 * Runs a generation again if another request stalled the engine before this one had any output. Once: the model may be
 * stalled again.
 */
async function* repeatIfInterrupted(
  events: AsyncGenerator<GenerationEvent>,
  runAgain: () => Promise<AsyncGenerator<GenerationEvent>>,
): AsyncGenerator<GenerationEvent> {
  let hasStarted = false;
  let hasOutput = false;
  try {
    for await (const event of events) {
      if (event.type === "generation-start") hasStarted = true;
      else if (event.type !== "prompt-progress") hasOutput = true;
      yield event;
    }
  } catch (error) {
    if (hasOutput || !wasInterrupted(error)) throw error;
    for await (const event of await runAgain()) {
      if (event.type !== "generation-start" || !hasStarted) yield event;
    }
  }
}

function wasInterrupted(error: unknown): boolean {
  if (!(error instanceof FailureError)) return false;
  // A generation throws failures of the union only.
  const failure = error.failure as RequestFailure;
  return failure.kind === "engine-unloaded" && failure.wasInterrupted === true;
}

/** What a buffered event takes up, roughly. */
function countCharacters(event: GenerationEvent): number {
  if (event.type === "text-delta") return event.text.length + 1000 * (event.tokens?.length ?? 0);
  return event.type === "reasoning-delta" ? event.text.length : 100;
}

type LeaseContext = Pick<GenerationDependencies, "metrics"> & {
  readonly lease: GrowingLease;
  readonly resolved: ResolvedSampling;
  readonly startedAt: number;
};

async function* generateOnLease(
  request: GenerationRequest,
  { lease: acquired, resolved, metrics, startedAt }: LeaseContext,
  client: ClientRequest,
): AsyncGenerator<GenerationEvent> {
  const { signal, addLogFields } = client;
  using lease = acquired;
  if (request.reasoningLimit !== undefined) reportIgnoredLimit(request.reasoningLimit, lease, client);
  const { input, droppedMessages } = await fitInput(addModelMessages(request), lease, signal);
  const { window, loadMilliseconds, queueMilliseconds } = lease.current;
  addLogFields({
    queueMilliseconds: Math.round(queueMilliseconds),
    loadMilliseconds: Math.round(loadMilliseconds),
    ...(droppedMessages === 0 ? {} : { droppedMessages }),
  });
  const { seed } = resolved.sampling;
  yield {
    type: "generation-start",
    contextTokens: window.tokens,
    loadMilliseconds,
    queueMilliseconds,
    droppedMessages,
    seed,
  };
  let hasOutput = false;
  for await (const event of generate(lease.engine, { ...request, ...resolved, input }, signal)) {
    if (event.type === "generation-end") addLogFields(summarize(event));
    else if (event.type !== "prompt-progress") {
      metrics.countOutputChunk();
      if (!hasOutput) addLogFields({ firstTokenMilliseconds: Math.round(performance.now() - startedAt) });
      hasOutput = true;
    }
    yield event;
  }
}

/** Only the engine itself can limit thinking if it parses its output itself. */
function reportIgnoredLimit(
  { field }: ReasoningLimit,
  { engine }: GrowingLease,
  { addResponseHeaders }: ClientRequest,
): void {
  const { splitsEvents, limitsReasoning } = engine.describe();
  if (splitsEvents && limitsReasoning !== true) addResponseHeaders(ignoredHeader({ engine: [field] }));
}

type FittedInput = Pick<GenerationRequest, "input"> & { readonly droppedMessages: number };

async function fitInput(
  { input, overflow }: GenerationRequest,
  { current: { engine, window } }: GrowingLease,
  signal: AbortSignal,
): Promise<FittedInput> {
  if (input.type !== "conversation" || overflow === "reject") return { input, droppedMessages: 0 };
  const { conversation, droppedMessages } = await fitConversation(
    { engine, contextTokens: Math.floor(window.tokens * (overflow === "leave-room" ? 0.75 : 1)) },
    input.conversation,
    signal,
  );
  return { input: { ...input, conversation }, droppedMessages };
}

/** Adds the model's system message unless the request has its own, and the model's example messages. */
export function addModelMessages<Request extends Pick<GenerationRequest, "model" | "input">>(
  request: Request,
): Request {
  const { input, model } = request;
  if (input.type !== "conversation") return request;
  const conversation = prependMessages(input.conversation, model);
  return { ...request, input: { ...input, conversation } };
}

function prependMessages(conversation: Conversation, { system, messages }: ModelDescription): Conversation {
  const ownSystem = conversation.messages.filter(({ role }) => role === "system");
  const rest = conversation.messages.filter(({ role }) => role !== "system");
  const modelSystem: readonly Message[] =
    system === null || ownSystem.length > 0 ? [] : [{ role: "system", content: system }];
  if (modelSystem.length + messages.length === 0) return conversation;
  return { ...conversation, messages: [...modelSystem, ...ownSystem, ...messages, ...rest] };
}

function summarize({
  reason,
  usage: { promptTokens, cachedTokens, outputTokens },
  timings: { outputMilliseconds },
}: Extract<OutputEvent, { type: "generation-end" }>): LogFields {
  const perSecond =
    outputMilliseconds > 0 ? Math.round((outputTokens / outputMilliseconds) * 10_000) / 10 : 0;
  return {
    promptTokens,
    cachedTokens,
    outputTokens,
    ...(perSecond === 0 ? {} : { tokensPerSecond: perSecond }),
    stopReason: reason,
  };
}
