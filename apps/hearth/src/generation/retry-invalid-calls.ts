import type { EngineFailure, JsonObject, Message, Tool } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import type { OutputEvent } from "./events.ts";
import type { ResolvedRequest } from "./request.ts";
import { matchesSchema } from "./tool-calls/matches-schema.ts";

type Generate = (request: ResolvedRequest) => AsyncIterable<OutputEvent>;
type CallEvent = Extract<OutputEvent, { readonly index: number }>;
type GenerationEnd = Extract<OutputEvent, { type: "generation-end" }>;

type CallStart = Extract<CallEvent, { type: "tool-call-start" }>;

/** A call whose events are held back. */
type HeldCall = {
  readonly events: CallEvent[];
  /** Undefined for a failure whose name could not be read. */
  readonly start: CallStart | undefined;
  /** Set once the call has ended with arguments that its tool does not accept. */
  invalid?: InvalidCall;
};
type InvalidCall = { readonly start: CallStart; readonly arguments: JsonObject };

/**
 * Generates, and generates each call of a strict tool again whose arguments its schema does not allow: once, as a
 * required call of that tool, so that the grammar of the tool applies. Calls of strict tools are held back until they
 * are complete, because a stream cannot withdraw one. If the second attempt fails, the first one is passed on.
 */
export async function* retryInvalidCalls(
  request: ResolvedRequest,
  generate: Generate,
): AsyncGenerator<OutputEvent> {
  const tools = listStrictTools(request);
  const held: HeldCall[] = [];
  for await (const event of generate(request)) {
    if (event.type === "generation-end") {
      yield* endWithCalls(event, held, (call, end) => callAgain(request, { call, end, generate }));
      return;
    }
    const isStrict = event.type === "tool-call-start" && tools.has(event.name);
    if (!isCallEvent(event) || (held.length === 0 && !isStrict)) {
      yield event;
      continue;
    }
    hold(held, event, tools);
    const isComplete = event.type === "tool-call-end" || event.type === "tool-call-fail";
    // A call after an invalid one waits for it, so that calls stay in order.
    if (isComplete && held.every(({ invalid }) => invalid === undefined))
      yield* held.splice(0).flatMap(({ events }) => events);
  }
}

function listStrictTools({ input, callableTools }: ResolvedRequest): ReadonlyMap<string, Tool> {
  const listed = input.type === "conversation" ? (input.conversation.tools ?? []) : [];
  const strict = (callableTools ?? listed).filter(({ isStrict }) => isStrict === true);
  return new Map(strict.map((tool) => [tool.name, tool]));
}

function isCallEvent(event: OutputEvent): event is CallEvent {
  return "index" in event;
}

function hold(held: HeldCall[], event: CallEvent, tools: ReadonlyMap<string, Tool>): void {
  const last = held.at(-1);
  if (event.type === "tool-call-start" || last?.start?.index !== event.index) {
    held.push({ start: event.type === "tool-call-start" ? event : undefined, events: [event] });
    return;
  }
  last.events.push(event);
  const schema = tools.get(last.start.name)?.parameters;
  if (event.type !== "tool-call-end" || schema === undefined) return;
  if (!matchesSchema(event.arguments, schema))
    last.invalid = { start: last.start, arguments: event.arguments };
}

/** What a second attempt produced, and the end of the generation with its tokens. */
type Attempt = { readonly events: readonly CallEvent[]; readonly end: GenerationEnd };
type Repeat = (call: InvalidCall, end: GenerationEnd) => Promise<Attempt | undefined>;

async function* endWithCalls(
  first: GenerationEnd,
  held: readonly HeldCall[],
  repeat: Repeat,
): AsyncGenerator<OutputEvent> {
  let end = first;
  for (const call of held) {
    if (call.invalid === undefined) yield* call.events;
    else {
      const attempt = await repeat(call.invalid, end);
      const isComplete = attempt?.events.some(({ type }) => type === "tool-call-end") === true;
      yield* isComplete ? attempt.events : call.events;
      end = attempt?.end ?? end;
    }
  }
  yield end;
}

type Repetition = { readonly call: InvalidCall; readonly end: GenerationEnd; readonly generate: Generate };

/** Undefined if there is no token left for another attempt, or no grammar for the schema. */
async function callAgain(
  request: ResolvedRequest,
  { call, end, generate }: Repetition,
): Promise<Attempt | undefined> {
  const maxTokens = request.maxTokens - end.usage.outputTokens;
  if (maxTokens < 1) return undefined;
  const events: CallEvent[] = [];
  let total = end;
  try {
    for await (const event of generate({ ...requireCall(request, call), maxTokens })) {
      if (event.type === "generation-end") total = addUsage(end, event);
      else if (isCallEvent(event)) events.push(identifyAs(call.start, event));
    }
  } catch (error) {
    if (!isAttemptFailure(error)) throw error;
    return undefined;
  }
  return { events, end: total };
}

/** The client gets one call, with the id and number of the first attempt. */
function identifyAs({ index, id }: CallStart, event: CallEvent): CallEvent {
  return event.type === "tool-call-start" ? { ...event, index, id } : { ...event, index };
}

/** The first attempt is in the prompt, so that the model keeps what was right. */
function requireCall(
  request: ResolvedRequest,
  { start: { id, name }, arguments: values }: InvalidCall,
): ResolvedRequest {
  const { input } = request;
  if (input.type !== "conversation") return request;
  const attempt: readonly Message[] = [
    { role: "assistant", content: null, toolCalls: [{ id, name, arguments: values }] },
    { role: "tool", content: explanation, toolCallId: id, toolName: name },
  ];
  const messages = [...input.conversation.messages, ...attempt];
  return {
    ...request,
    input: { type: "conversation", conversation: { ...input.conversation, messages } },
    toolChoice: { type: "required", toolName: name, maxCalls: 1 },
  };
}

/** For the model. */
const explanation =
  "The arguments are not valid for the schema of this tool. Call it again with valid arguments.";

function addUsage(first: GenerationEnd, second: GenerationEnd): GenerationEnd {
  const { usage, timings } = first;
  const { promptMilliseconds, outputMilliseconds } = second.timings;
  return {
    ...first,
    usage: { ...usage, outputTokens: usage.outputTokens + second.usage.outputTokens },
    timings: {
      ...timings,
      outputMilliseconds: timings.outputMilliseconds + promptMilliseconds + outputMilliseconds,
    },
  };
}

const attemptFailures: ReadonlySet<EngineFailure["kind"]> = new Set([
  "schema-unsupported",
  "grammar-invalid",
  "grammar-rejected",
  "grammars-suspended",
  "prompt-too-long",
  "not-supported",
  "template-failed",
]);

/** The first attempt is still a call, so that a schema without a grammar is no reason to fail. */
function isAttemptFailure(error: unknown): boolean {
  // Engines throw failures of the union only.
  return error instanceof FailureError && attemptFailures.has((error.failure as EngineFailure).kind);
}
