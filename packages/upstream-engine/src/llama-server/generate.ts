import type { PreparingThread } from "@hearth-and-keep/chat-templates";
import type { EngineEvent, EngineFailure, EngineRequest, TextDelta } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { unlessAborted } from "../wire/unless-aborted.ts";
import { completionBody, stepBody } from "./completion-body.ts";
import { nameRefusal } from "./map-error.ts";
import type { ModelFacts } from "./model-facts.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import { type CompletionEnd, readCompletion, readTimings } from "./read-completion.ts";
import { guessTokens, type ReadingSpeed } from "./prefill-speed.ts";
import type { LeasedSlot, ServerSlotPool, SlotState } from "./slot-pool.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

export type GenerateDependencies = {
  readonly engine: SupervisedEngine;
  readonly prompts: Prompts;
  readonly thread: PreparingThread;
  readonly facts: ModelFacts;
  readonly slots: ServerSlotPool;
  readonly speed: ReadingSpeed;
  /** Of each slot. */
  readonly contextTokens: number;
};

/**
 * Has the engine answer: a prompt is made, a slot is lent, what is long is read in steps with a look at the signal
 * between them, and the rest is read and answered in one stream. Leaving the loop, or the signal, closes the stream;
 * the slot is lent again when the engine says that it is idle.
 */
export async function* generate(
  request: EngineRequest,
  callerSignal: AbortSignal,
  parts: GenerateDependencies,
): AsyncGenerator<EngineEvent> {
  const { engine, prompts, thread, slots } = parts;
  const signal = AbortSignal.any([callerSignal, engine.gone]);
  signal.throwIfAborted();
  const prompt = await prompts.prompt(request.input, signal);
  const tokens = prompt.type === "tokens" ? prompt.tokens : [];
  if (prompt.type === "tokens") refuseTooLong(tokens.length, parts.contextTokens);
  const grammar = request.constraint === undefined ? undefined : await thread.grammar(request.constraint);
  const slot = await slots.lend({ prompt: tokens, partition: request.cachePartition, signal });
  let state: SlotState = "unheard";
  try {
    for await (const event of answer(request, prompt, { ...parts, slot, grammar, signal })) {
      if (event.type === "text-delta") state = "cut off";
      else if (event.type === "generation-end") state = "ended";
      yield event;
    }
  } finally {
    slot.giveBack(state);
  }
}

type AnswerParts = GenerateDependencies & {
  readonly slot: LeasedSlot;
  readonly grammar: string | undefined;
  readonly signal: AbortSignal;
};

async function* answer(
  request: EngineRequest,
  prompt: Prompt,
  parts: AnswerParts,
): AsyncGenerator<EngineEvent> {
  const { slot } = parts;
  const startedAt = performance.now();
  let steps: StepsRead | undefined;
  if (prompt.type === "tokens") {
    // Told before the first step, so that everybody knows the length of the prompt while it is read.
    yield progress(slot.commonTokens, prompt.tokens.length, slot.commonTokens);
    steps = yield* readInSteps(prompt.tokens, parts);
  }
  let begunAt: number | undefined;
  for await (const part of streamAnswer(request, prompt, {
    ...parts,
    usesCache: steps !== undefined || !slot.isForeign,
  })) {
    if (part.type === "end") {
      begunAt ??= performance.now();
      const cachedTokens = steps?.cachedTokens ?? mostCached(part.end.timings.cachedTokens, prompt, slot);
      yield endEvent(part.end, { prompt, cachedTokens, startedAt, begunAt });
      return;
    }
    if (part.type === "text-delta") begunAt ??= performance.now();
    yield part;
  }
  throw new Error("Cannot finish in the engine: its answer has no end");
}

/** Of what we did not read into a slot for this caller nobody is told how much was there, whatever the engine says. */
function mostCached(told: number, prompt: Prompt, slot: LeasedSlot): number {
  if (prompt.type === "tokens") return Math.min(told, slot.commonTokens);
  // Where images lie among the tokens is known to the engine alone.
  return slot.isForeign ? 0 : told;
}

function progress(evaluated: number, total: number, cached: number): EngineEvent {
  return { type: "prompt-progress", evaluated, total, cached };
}

type StepsRead = {
  /** What was there before the first step. */
  readonly cachedTokens: number;
};

/** Undefined when the prompt was short enough for none. */
async function* readInSteps(
  tokens: readonly number[],
  { engine, slot, slots, speed, signal }: AnswerParts,
): AsyncGenerator<EngineEvent, StepsRead | undefined> {
  let cachedTokens: number | undefined;
  for (let read = slot.commonTokens; ; ) {
    const stepTokens = speed.stepTokens(tokens.length, slots.isAlone);
    // The end goes together with the answer.
    if (tokens.length - read <= stepTokens * 1.5) break;
    const beginning = tokens.slice(0, read + stepTokens);
    const usesCache = cachedTokens !== undefined || !slot.isForeign;
    const body = stepBody(beginning, slot, usesCache);
    // A step cannot be stopped, so it is not cut off either: what it tells about speed is worth having.
    // The engine may have to read again what was there, so all of it counts.
    const asked = { path: "/completion", body, readTokens: beginning.length };
    const step = engine.ask(asked, engine.gone).then(readTimings);
    const learned = step.then((timings) => {
      speed.learn(timings);
      slot.note(beginning);
      return timings;
    });
    slot.occupy(learned);
    const timings = await unlessAborted(learned, signal);
    read = beginning.length;
    cachedTokens ??= Math.min(timings.cachedTokens, slot.commonTokens);
    yield progress(read, tokens.length, cachedTokens);
  }
  return cachedTokens === undefined ? undefined : { cachedTokens };
}

type StreamPart = EngineEvent | { readonly type: "end"; readonly end: CompletionEnd };

async function* streamAnswer(
  request: EngineRequest,
  prompt: Prompt,
  parts: AnswerParts & { readonly usesCache: boolean },
): AsyncGenerator<StreamPart> {
  const { engine, slot, grammar, facts, signal, usesCache } = parts;
  const keptTokens = [...facts.keptTokens.values()];
  const body = completionBody(request, prompt, { slot, grammar, keptTokens, usesCache });
  const asked = {
    isConstrained: grammar !== undefined,
    hasImages: prompt.type === "images",
    readTokens: prompt.type === "tokens" ? prompt.tokens.length : guessTokens(prompt.text),
  };
  const written = noteWritten(prompt, slot);
  // The token that ends an answer comes as a piece too, so what may be one waits for what follows it.
  let held: TextDelta | undefined;
  for await (const event of engine.stream({ path: "/completion", body, ...asked }, signal)) {
    const part = readCompletion(event, request.logProbabilities);
    if (part.type === "refusal") throw nameRefusal(part, asked);
    if (part.type === "progress") {
      yield progress(part.evaluated, part.total, mostCached(part.cached, prompt, slot));
      continue;
    }
    if (held !== undefined && (part.type === "piece" || part.end.reason === "length")) yield held;
    held = undefined;
    if (part.type === "end") {
      written.end();
      parts.speed.learn(part.end.timings);
      yield part;
      return;
    }
    written.add(part.tokens, part.delta.outputTokens);
    const mayEnd = part.delta.text === "" || part.tokens.some((token) => facts.keptTokens.has(token));
    if (mayEnd) held = part.delta;
    else yield part.delta;
  }
}

type Written = { add(tokens: readonly number[], outputTokens: number): void; end(): void };

/** Notes what a slot holds after an answer, as far as it was told: tokens of unfinished characters come untold. */
function noteWritten(prompt: Prompt, slot: LeasedSlot): Written {
  const isSeeing = prompt.type === "images";
  const all = isSeeing ? [] : [...prompt.tokens];
  let isWhole = !isSeeing;
  let count = 0;
  return {
    add(tokens, outputTokens) {
      // With the first piece the whole prompt is known to be there.
      if (count === 0) slot.note([...all]);
      isWhole &&= outputTokens - count === tokens.length;
      count = outputTokens;
      if (isWhole) all.push(...tokens);
    },
    end: () => slot.note(all),
  };
}

type EndParts = {
  readonly prompt: Prompt;
  readonly cachedTokens: number;
  readonly startedAt: number;
  readonly begunAt: number;
};

function endEvent(end: CompletionEnd, { prompt, cachedTokens, startedAt, begunAt }: EndParts): EngineEvent {
  return {
    type: "generation-end",
    reason: end.reason,
    usage: {
      promptTokens: prompt.type === "tokens" ? prompt.tokens.length : (end.promptTokens ?? 0),
      cachedTokens,
      outputTokens: end.outputTokens,
    },
    timings: { promptMilliseconds: begunAt - startedAt, outputMilliseconds: performance.now() - begunAt },
  };
}

function refuseTooLong(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw new Error("Cannot generate from an empty prompt");
  if (promptTokens >= contextTokens) {
    throw new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens });
  }
}
