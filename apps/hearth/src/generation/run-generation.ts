import type { Conversation, EngineRequest, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { type RequestFailure, requestFailure } from "../failures.ts";
import { ignoredHeader } from "../ignored-header.ts";
import type { ModelDescription } from "../models/metadata/describe-model.ts";
import { createLoadRequest, type Lease } from "../scheduling/load-request.ts";
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

/** Cached tokens are among those of the prompt. */
export type TokenCounts = Readonly<Record<"promptTokens" | "cachedTokens" | "outputTokens", number>>;

/** Counts tokens as they are generated. A promise is to be awaited: it rejects if no more may be used. */
export type CountTokens = (added: TokenCounts) => Promise<void> | undefined;

/** What generation needs of the HTTP request. */
type ClientRequest = {
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Adds fields to the request's log line. */
  readonly addLogFields: (fields: LogFields) => void;
  /** Adds headers to the response, if none of it was sent yet. */
  readonly addResponseHeaders: (headers: Readonly<Record<string, string>>) => void;
  /** Writes a comment to the response, if its format has comments. */
  addComment?(text: string): void;
  /** Absent if tokens are not counted. */
  readonly countTokens?: CountTokens;
  /** Named to the engine if the model runs elsewhere. */
  readonly actor?: { readonly keyName: string };
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
  reportLocation(request.model, client);
  const resolved = resolveSampling(request.sampling, request.model.parameters.values);
  const isConstrained = request.constraint !== undefined || request.toolChoice.type === "required";
  if (isConstrained) reportIgnoredKeywords(request, client);
  const loadRequest = createLoadRequest(request, "generate");
  const acquireOnce = (neededTokens?: number): Promise<Lease> =>
    reportLoad(client, (onLoadProgress) =>
      scheduler.acquire(
        { ...loadRequest, onLoadProgress, ...(neededTokens && { neededTokens }) },
        client.signal,
      ),
    );
  const acquire = async (): Promise<GrowingLease> => new GrowingLease(await acquireOnce(), acquireOnce);
  let lease = await acquire();
  const run = (): AsyncGenerator<GenerationEvent> =>
    generateOnLease(withCaller(request, client), { lease, resolved, metrics, startedAt }, client);
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

/** Fields of the request that pools and remote engines get, and the callback for their address. */
function withCaller<Request extends Pick<GenerationRequest, "model">>(
  request: Request,
  { actor, addLogFields }: ClientRequest,
): Request & Pick<EngineRequest, "caller" | "onAddress"> {
  if (request.model.remote === undefined) return request;
  const caller = actor === undefined ? {} : { caller: actor.keyName };
  return { ...request, ...caller, onAddress: (engineAddress) => addLogFields({ engineAddress }) };
}

/** A load that fails before has its own status; most that fail do so at once. */
const unreportedMilliseconds = 1000;

/** Comments on a load that takes long with the percentage that is loaded. */
export async function reportLoad<Result>(
  client: Pick<ClientRequest, "addComment">,
  load: (onLoadProgress: (percent: number) => void) => Promise<Result>,
): Promise<Result> {
  let latest = 0;
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const report = (): void => client.addComment?.(`loading ${latest}%`);
  const onLoadProgress = (percent: number): void => {
    latest = percent;
    if (isLate) report();
    timer ??= setTimeout(() => {
      isLate = true;
      report();
    }, unreportedMilliseconds);
  };
  try {
    return await load(onLoadProgress);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells the client and the log which model runs, and where, so that it is known where the prompt went. */
export function reportLocation(
  { name, remote }: Pick<ModelDescription, "name" | "remote">,
  { addLogFields, addResponseHeaders }: Pick<ClientRequest, "addLogFields" | "addResponseHeaders">,
): void {
  const runsOn = remote?.location ?? "local";
  addLogFields({ model: name, runsOn });
  addResponseHeaders({ "hearth-runs-on": runsOn });
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
    engine: lease.engine.describe().driver,
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
  const meter = client.countTokens === undefined ? undefined : createMeter(client.countTokens);
  for await (const event of generate(lease.engine, { ...request, ...resolved, input }, signal)) {
    // A promise for every token would be slow.
    const counted = meter?.(event);
    if (counted !== undefined) await counted;
    if (event.type === "generation-end") addLogFields(summarize(event));
    else if (event.type !== "prompt-progress") {
      metrics.countOutputChunk();
      if (!hasOutput) addLogFields({ firstTokenMilliseconds: Math.round(performance.now() - startedAt) });
      hasOutput = true;
    }
    yield event;
  }
}

/** Reports the tokens of each event; the last one corrects what was estimated. */
function createMeter(countTokens: CountTokens): (event: OutputEvent) => Promise<void> | undefined {
  let reported: TokenCounts = { promptTokens: 0, cachedTokens: 0, outputTokens: 0 };
  return (event) => {
    const counted = countEvent(event, reported);
    if (counted === reported) return undefined;
    const added = {
      promptTokens: counted.promptTokens - reported.promptTokens,
      cachedTokens: counted.cachedTokens - reported.cachedTokens,
      outputTokens: counted.outputTokens - reported.outputTokens,
    };
    reported = counted;
    return countTokens(added);
  };
}

function countEvent(event: OutputEvent, before: TokenCounts): TokenCounts {
  switch (event.type) {
    case "prompt-progress": {
      if (event.total <= before.promptTokens && event.cached <= before.cachedTokens) return before;
      const promptTokens = Math.max(before.promptTokens, event.total);
      return { ...before, promptTokens, cachedTokens: Math.max(before.cachedTokens, event.cached) };
    }
    case "generation-end": {
      const { promptTokens, cachedTokens, outputTokens } = event.usage;
      return { promptTokens, cachedTokens, outputTokens };
    }
    case "text-delta":
      return { ...before, outputTokens: event.outputTokens ?? before.outputTokens + countRoughly(event) };
    case "reasoning-delta":
      return { ...before, outputTokens: before.outputTokens + countRoughly(event) };
    case "tool-call-start":
    case "tool-call-delta":
    case "tool-call-end":
    case "tool-call-fail":
      return before;
  }
}

/** For engines that do not count: hardly any text has more tokens. */
function countRoughly({ text }: { readonly text: string }): number {
  return Math.max(1, Math.ceil(text.length / 3));
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
  usage: { promptTokens, cachedTokens, outputTokens, guessedTokens, acceptedTokens = 0 },
  timings: { outputMilliseconds },
}: Extract<OutputEvent, { type: "generation-end" }>): LogFields {
  const perSecond =
    outputMilliseconds > 0 ? Math.round((outputTokens / outputMilliseconds) * 10_000) / 10 : 0;
  return {
    promptTokens,
    cachedTokens,
    outputTokens,
    ...(guessedTokens === undefined ? {} : { guessedTokens, acceptedTokens }),
    ...(perSecond === 0 ? {} : { tokensPerSecond: perSecond }),
    stopReason: reason,
  };
}
