import { fitPrompt, type PreparationThread } from "@hearth-and-keep/chat-templates";
import type { EngineEvent, EngineRequest, TextDelta } from "@hearth-and-keep/engine";
import { unlessAborted } from "../wire/unless-aborted.ts";
import { completionBody, stepBody } from "./completion-body.ts";
import { mapErrorResponse } from "./map-error.ts";
import type { ModelFacts } from "./model-facts.ts";
import { estimateTokens, type PrefillSpeed } from "./prefill-speed.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import { type CompletionEnd, readCompletion, readTimings } from "./read-completion.ts";
import type { LeasedSlot, ServerSlotPool, SlotOutcome } from "./slot-pool.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";
import { watchMedia } from "./watch-engine.ts";

export type GenerateDependencies = {
  readonly engine: SupervisedEngine;
  readonly prompts: Prompts;
  readonly thread: PreparationThread;
  readonly facts: ModelFacts;
  readonly slots: ServerSlotPool;
  readonly speed: PrefillSpeed;
  /** Context size of each slot. */
  readonly contextTokens: number;
};

/**
 * Runs a request: prepares the prompt, acquires a slot, evaluates a long prompt in steps with a check of the signal in
 * between, and streams the rest. Leaving the loop or aborting the signal closes the stream; the slot is reused as soon as
 * the engine reports that it is idle.
 */
export async function* generate(
  request: EngineRequest,
  clientSignal: AbortSignal,
  dependencies: GenerateDependencies,
): AsyncGenerator<EngineEvent> {
  const { engine, prompts, thread, slots } = dependencies;
  const signal = AbortSignal.any([clientSignal, engine.gone]);
  signal.throwIfAborted();
  const prompt = await prompts.prompt(request.input, signal);
  const tokens = prompt.type === "tokens" ? prompt.tokens : [];
  // Only the engine knows the length of a prompt with media.
  const maxTokens =
    prompt.type === "tokens"
      ? fitPrompt(tokens.length, request, dependencies.contextTokens)
      : request.maxTokens;
  const grammar = request.constraint === undefined ? undefined : await thread.grammar(request.constraint);
  const slot = await slots.acquire({ prompt: tokens, partition: request.cachePartition, signal });
  let outcome: SlotOutcome = "not-started";
  try {
    const limited = { ...request, maxTokens };
    for await (const event of generateInSlot(limited, prompt, { ...dependencies, slot, grammar, signal })) {
      if (event.type === "text-delta") outcome = "aborted";
      else if (event.type === "generation-end") outcome = "finished";
      yield event;
    }
  } finally {
    slot.release(outcome);
  }
}

type SlotContext = GenerateDependencies & {
  readonly slot: LeasedSlot;
  readonly grammar: string | undefined;
  readonly signal: AbortSignal;
};

async function* generateInSlot(
  request: EngineRequest,
  prompt: Prompt,
  context: SlotContext,
): AsyncGenerator<EngineEvent> {
  const { slot } = context;
  const startedAt = performance.now();
  let prefill: PrefillResult | undefined;
  if (prompt.type === "tokens") {
    // Emitted before the first step, so that the length of the prompt is known while it is evaluated.
    yield progress(slot.commonTokens, prompt.tokens.length, slot.commonTokens);
    prefill = yield* prefillInSteps(prompt.tokens, context);
  }
  let firstTokenAt: number | undefined;
  for await (const event of streamCompletion(request, prompt, {
    ...context,
    usesCache: prefill !== undefined || !slot.isForeign,
  })) {
    if (event.type === "end") {
      firstTokenAt ??= performance.now();
      const cachedTokens =
        prefill?.cachedTokens ?? reportedCachedTokens(event.end.timings.cachedTokens, prompt, slot);
      yield endEvent(event.end, { prompt, cachedTokens, startedAt, firstTokenAt });
      return;
    }
    if (event.type === "text-delta") firstTokenAt ??= performance.now();
    yield event;
  }
  throw new Error("The engine closed the stream without a final event");
}

/**
 * Never reports more than was cached for this client, whatever the engine says: anything else would reveal other
 * clients' prompts.
 */
function reportedCachedTokens(reported: number, prompt: Prompt, slot: LeasedSlot): number {
  if (prompt.type === "tokens") return Math.min(reported, slot.commonTokens);
  // Only the engine knows the positions of media among the tokens.
  return slot.isForeign ? 0 : reported;
}

function progress(evaluated: number, total: number, cached: number): EngineEvent {
  return { type: "prompt-progress", evaluated, total, cached };
}

type PrefillResult = {
  /** Tokens that were cached before the first step. */
  readonly cachedTokens: number;
};

/** Undefined if the prompt is short enough to need no step. */
async function* prefillInSteps(
  tokens: readonly number[],
  { engine, slot, slots, speed, signal }: SlotContext,
): AsyncGenerator<EngineEvent, PrefillResult | undefined> {
  let cachedTokens: number | undefined;
  for (let evaluated = slot.commonTokens; ; ) {
    const stepTokens = speed.stepTokens(tokens.length, slots.isAlone);
    // The rest is evaluated together with the output.
    if (tokens.length - evaluated <= stepTokens * 1.5) break;
    const prefix = tokens.slice(0, evaluated + stepTokens);
    const usesCache = cachedTokens !== undefined || !slot.isForeign;
    const body = stepBody(prefix, slot, usesCache);
    // A step cannot be stopped, so it is not aborted: its timing is useful.
    // The engine may have to evaluate cached tokens again, so all of them count.
    const stepRequest = { path: "/completion", body, readTokens: prefix.length };
    const step = engine.request(stepRequest, engine.gone).then(readTimings);
    const recorded = step.then((timings) => {
      speed.record(timings);
      slot.setTokens(prefix);
      return timings;
    });
    slot.holdUntil(recorded);
    const timings = await unlessAborted(recorded, signal);
    evaluated = prefix.length;
    cachedTokens ??= Math.min(timings.cachedTokens, slot.commonTokens);
    yield progress(evaluated, tokens.length, cachedTokens);
  }
  return cachedTokens === undefined ? undefined : { cachedTokens };
}

type StreamEvent = EngineEvent | { readonly type: "end"; readonly end: CompletionEnd };

async function* streamCompletion(
  request: EngineRequest,
  prompt: Prompt,
  context: SlotContext & { readonly usesCache: boolean },
): AsyncGenerator<StreamEvent> {
  const { engine, slot, grammar, facts, signal, usesCache } = context;
  const preservedTokens = [...facts.preservedTokens.values()];
  const body = completionBody(request, prompt, { slot, grammar, preservedTokens, usesCache });
  const watched = {
    isConstrained: grammar !== undefined,
    ...(prompt.type === "media" ? { media: watchMedia(prompt.media) } : {}),
    readTokens: prompt.type === "tokens" ? prompt.tokens.length : estimateTokens(prompt.text),
  };
  const tracker = trackSlotTokens(prompt, slot);
  // The end-of-generation token arrives as a chunk too, so a chunk that may be one is held until the next event.
  let held: TextDelta | undefined;
  for await (const value of engine.stream({ path: "/completion", body, ...watched }, signal)) {
    const event = readCompletion(value, request.logProbabilities);
    if (event.type === "error") throw mapErrorResponse(event, watched);
    if (event.type === "progress") {
      yield progress(event.evaluated, event.total, reportedCachedTokens(event.cached, prompt, slot));
      continue;
    }
    if (held !== undefined && (event.type === "chunk" || event.end.reason === "length")) yield held;
    held = undefined;
    if (event.type === "end") {
      tracker.end();
      context.speed.record(event.end.timings);
      yield event;
      return;
    }
    tracker.add(event.tokens, event.delta.outputTokens);
    const mayEnd = event.delta.text === "" || event.tokens.some((token) => facts.preservedTokens.has(token));
    if (mayEnd) held = event.delta;
    else yield event.delta;
  }
}

type TokenTracker = { add(tokens: readonly number[], outputTokens: number): void; end(): void };

/** Tracks the tokens in a slot as far as the engine reports them: tokens of incomplete characters are not reported. */
function trackSlotTokens(prompt: Prompt, slot: LeasedSlot): TokenTracker {
  const isText = prompt.type === "tokens";
  const all = isText ? [...prompt.tokens] : [];
  let isComplete = isText;
  let count = 0;
  return {
    add(tokens, outputTokens) {
      // The first chunk implies that the whole prompt has been evaluated.
      if (count === 0) slot.setTokens([...all]);
      isComplete &&= outputTokens - count === tokens.length;
      count = outputTokens;
      if (isComplete) all.push(...tokens);
    },
    end: () => slot.setTokens(all),
  };
}

type EndOptions = {
  readonly prompt: Prompt;
  readonly cachedTokens: number;
  readonly startedAt: number;
  readonly firstTokenAt: number;
};

function endEvent(
  end: CompletionEnd,
  { prompt, cachedTokens, startedAt, firstTokenAt }: EndOptions,
): EngineEvent {
  return {
    type: "generation-end",
    reason: end.reason,
    usage: {
      promptTokens: prompt.type === "tokens" ? prompt.tokens.length : (end.promptTokens ?? 0),
      cachedTokens,
      outputTokens: end.outputTokens,
    },
    timings: {
      promptMilliseconds: firstTokenAt - startedAt,
      outputMilliseconds: performance.now() - firstTokenAt,
    },
  };
}
