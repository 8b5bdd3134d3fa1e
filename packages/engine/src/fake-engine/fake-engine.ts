/**
 * @module
 * An engine behind the same port that says what a test tells it, at the pace it asks, fails where told, and
 * records what it was asked for. For timing and fault tests only: every feature is also shown on real weights.
 * Entered through the package's `testing.ts` by tests and benchmarks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { Conversation } from "../conversation.ts";
import type { Engine, EngineDescription, EngineFailure, GenerateRequest } from "../engine.ts";
import type { EndReason, EngineEvent } from "../events.ts";

/** What one request makes the engine do, step by step. */
export type ScriptStep =
  | { readonly do: "say"; readonly text: string }
  | { readonly do: "wait"; readonly milliseconds: number }
  | { readonly do: "emit"; readonly event: EngineEvent }
  | { readonly do: "fail"; readonly failure: EngineFailure }
  | { readonly do: "die"; readonly failure: EngineFailure }
  | { readonly do: "end"; readonly reason: EndReason };

export type Script = (request: GenerateRequest, turn: number) => Iterable<ScriptStep>;

export type ScriptedEngine = Engine & {
  /** Every request so far, in the order they came. */
  readonly requests: readonly GenerateRequest[];
  /** How many requests are under way now. */
  underWay(): number;
};

export function createScriptedEngine(
  script: Script,
  changes: Partial<EngineDescription> = {},
): ScriptedEngine {
  const requests: GenerateRequest[] = [];
  const ending = Promise.withResolvers<EngineFailure | undefined>();
  const life = new AbortController();
  let running = 0;
  const end = (failure: EngineFailure | undefined): void => {
    ending.resolve(failure);
    life.abort(new FailureError<EngineFailure>(failure ?? { kind: "engine-unloaded" }));
  };
  async function* generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    const either = AbortSignal.any([signal, life.signal]);
    either.throwIfAborted();
    requests.push(request);
    running += 1;
    try {
      yield* perform(script(request, requests.length), { signal: either, end });
    } finally {
      running -= 1;
    }
  }
  return {
    requests,
    underWay: () => running,
    describe: () => ({ ...plainDescription, ...changes }),
    generate,
    embed: async ({ texts }) => ({
      vectors: texts.map((text) => Float32Array.of(text.length, 1)),
      tokens: texts.reduce((sum, text) => sum + wordsOf(text).length, 0),
    }),
    rank: async (_query, documents) => documents.map((document) => document.length),
    tokenize: async (text) => wordsOf(text).map((_word, index) => index),
    render: async (conversation) => renderPlainly(conversation),
    count: async (conversation) => wordsOf(renderPlainly(conversation)).length,
    unload: async () => end(undefined),
    ended: ending.promise,
    [Symbol.asyncDispose]: async () => end(undefined),
  };
}

type Performance = { readonly signal: AbortSignal; readonly end: (failure: EngineFailure) => void };

async function* perform(
  steps: Iterable<ScriptStep>,
  { signal, end }: Performance,
): AsyncGenerator<EngineEvent> {
  const startedAt = performance.now();
  let outputTokens = 0;
  for (const step of steps) {
    signal.throwIfAborted();
    switch (step.do) {
      case "say":
        outputTokens += 1;
        yield { type: "text-delta", text: step.text, outputTokens };
        break;
      case "wait":
        await sleep(step.milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted());
        break;
      case "emit":
        yield step.event;
        break;
      case "fail":
        throw new FailureError<EngineFailure>(step.failure);
      case "die":
        end(step.failure);
        break;
      case "end": {
        const timings = { promptMilliseconds: 0, outputMilliseconds: performance.now() - startedAt };
        const usage = { promptTokens: 1, cachedTokens: 0, outputTokens };
        yield { type: "generation-end", reason: step.reason, usage, timings };
        return;
      }
    }
  }
  signal.throwIfAborted();
}

const plainDescription: EngineDescription = {
  driver: "scripted",
  metadata: {},
  chatTemplate: null,
  templateAbilities: undefined,
  trainedContextTokens: 4096,
  contextTokens: 4096,
  sequences: 1,
  threads: 1,
  gpu: false,
  memoryBytes: { model: 0, context: 0 },
  splitsEvents: false,
  canFillInTheMiddle: false,
  canSeeImages: false,
};

function renderPlainly({ messages }: Conversation): string {
  return messages.map(({ role, content }) => `${role}: ${content ?? ""}`).join("\n");
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
