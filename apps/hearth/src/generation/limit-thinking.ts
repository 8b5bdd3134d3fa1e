import type {
  Conversation,
  Engine,
  EngineEvent,
  EngineFailure,
  EngineRequest,
  GenerationEnd,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { closeThinking, type OutputPlan } from "./split-output.ts";

export type LimitedGeneration = {
  readonly engine: Pick<Engine, "generate">;
  /** How the output is parsed, which decides what is thinking. */
  readonly plan: OutputPlan;
  readonly maxThinkingTokens: number;
  readonly signal: AbortSignal;
};

/** The opening tag of thinking may be several tokens, so that output may become thinking after the limit. */
const maxChecks = 16;

/** Thinking that stops in the middle of a sentence would go on in the response. The client does not see this. */
const lastThought = "\n\nI have thought long enough, so I respond now.";

/**
 * Generates with a limit on thinking. At the limit the engine is stopped, and goes on after what the model has written
 * and the end of thinking, which the engine has cached. Both runs are one output: the tokens of both count once, toward
 * the same limit. If thinking ends by itself, there is only one run.
 */
export async function* limitThinking(
  request: EngineRequest,
  generation: LimitedGeneration,
): AsyncGenerator<EngineEvent> {
  const { engine, signal } = generation;
  const stopped = yield* generateUntilLimit(request, generation);
  if (stopped === undefined) return;
  yield { type: "text-delta", text: stopped.closing };
  try {
    for await (const event of engine.generate(continueRequest(request, stopped), signal)) {
      // The prompt is the one of the first run.
      if (event.type !== "prompt-progress") yield addFirstRun(event, stopped);
    }
  } catch (error) {
    if (!isContextFull(error)) throw error;
    yield endOf(stopped);
  }
}

/** What the first run wrote. */
type StoppedRun = {
  readonly text: string;
  readonly closing: string;
  readonly outputTokens: number;
  readonly prompt: Pick<GenerationEnd["usage"], "promptTokens" | "cachedTokens">;
  readonly timings: GenerationEnd["timings"];
};

/** Returns undefined if the generation has ended. */
async function* generateUntilLimit(
  request: EngineRequest,
  { engine, plan, maxThinkingTokens, signal }: LimitedGeneration,
): AsyncGenerator<EngineEvent, StoppedRun | undefined> {
  const startedAt = performance.now();
  let firstTextAt: number | undefined;
  let [text, outputTokens, checks] = ["", 0, 0];
  let prompt = { promptTokens: 0, cachedTokens: 0 };
  for await (const event of engine.generate(request, signal)) {
    yield event;
    if (event.type === "prompt-progress") prompt = { promptTokens: event.total, cachedTokens: event.cached };
    if (event.type !== "text-delta") continue;
    firstTextAt ??= performance.now();
    text += event.text;
    outputTokens = event.outputTokens ?? outputTokens + 1;
    const isDue = outputTokens >= maxThinkingTokens && outputTokens < request.maxTokens;
    if (!isDue || checks === maxChecks) continue;
    checks += 1;
    const closing = closeThinking(text, plan);
    if (closing === undefined) continue;
    const outputMilliseconds = performance.now() - firstTextAt;
    const timings = { promptMilliseconds: firstTextAt - startedAt, outputMilliseconds };
    // Leaving the loop stops the engine.
    return { text, closing, outputTokens, prompt, timings };
  }
  return undefined;
}

function continueRequest(request: EngineRequest, { text, closing, outputTokens }: StoppedRun): EngineRequest {
  const { input, maxTokens } = request;
  const written = text.trimEnd() + lastThought + closing;
  const remaining = { ...request, maxTokens: maxTokens - outputTokens };
  if (input.type !== "conversation") return remaining;
  return { ...remaining, input: { ...input, conversation: appendToTurn(input.conversation, written) } };
}

/** Engines go on with a last message of the assistant, also with images in the conversation. */
function appendToTurn(conversation: Conversation, text: string): Conversation {
  const { messages } = conversation;
  const last = messages.at(-1);
  const isStarted = last?.role === "assistant" && last.content !== null && !last.toolCalls?.length;
  const turn = { role: "assistant", content: (isStarted ? last.content : "") + text } as const;
  return { ...conversation, messages: [...(isStarted ? messages.slice(0, -1) : messages), turn] };
}

function addFirstRun(event: EngineEvent, first: StoppedRun): EngineEvent {
  if (event.type === "text-delta" && event.outputTokens !== undefined)
    return { ...event, outputTokens: event.outputTokens + first.outputTokens };
  if (event.type !== "generation-end") return event;
  const { usage, timings } = event;
  const { promptMilliseconds, outputMilliseconds } = first.timings;
  const restMilliseconds = timings.promptMilliseconds + timings.outputMilliseconds;
  return {
    ...event,
    usage: { ...first.prompt, outputTokens: usage.outputTokens + first.outputTokens },
    timings: { promptMilliseconds, outputMilliseconds: outputMilliseconds + restMilliseconds },
  };
}

/** Whether the end of thinking left no room for a response. */
function isContextFull(error: unknown): boolean {
  // Engines throw failures of the union only.
  return error instanceof FailureError && (error.failure as EngineFailure).kind === "prompt-too-long";
}

function endOf({ prompt, outputTokens, timings }: StoppedRun): GenerationEnd {
  return { type: "generation-end", reason: "length", usage: { ...prompt, outputTokens }, timings };
}
