/**
 * @module
 * An implementation of the engine port that plays a script: it writes the given text at the given pace, fails or
 * crashes on demand, and records its requests. For timing and fault tests only: every feature is also tested on real
 * weights. Exported through the package's `testing.ts` to tests and benchmarks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { Conversation } from "../conversation.ts";
import type { Engine, EngineDescription, EngineFailure, EngineRequest } from "../engine.ts";
import type { EndReason, EngineEvent } from "../events.ts";

/** One step of a script. */
export type FakeEngineStep =
  | { readonly do: "write"; readonly text: string }
  | { readonly do: "wait"; readonly milliseconds: number }
  | { readonly do: "emit"; readonly event: EngineEvent }
  | { readonly do: "fail"; readonly failure: EngineFailure }
  | { readonly do: "crash"; readonly failure: EngineFailure }
  | { readonly do: "end"; readonly reason: EndReason };

/** The steps to play for a request; `turn` counts requests from 1. */
export type FakeEngineScript = (request: EngineRequest, turn: number) => Iterable<FakeEngineStep>;

export type FakeEngine = Engine & {
  /** All requests so far, in order of arrival. */
  readonly requests: readonly EngineRequest[];
  /** How many requests are running. */
  activeRequests(): number;
};

export function createFakeEngine(
  script: FakeEngineScript,
  changes: Partial<EngineDescription> = {},
): FakeEngine {
  const requests: EngineRequest[] = [];
  const closed = Promise.withResolvers<EngineFailure | undefined>();
  const lifetime = new AbortController();
  let running = 0;
  const close = (failure: EngineFailure | undefined): void => {
    closed.resolve(failure);
    lifetime.abort(new FailureError<EngineFailure>(failure ?? { kind: "engine-unloaded" }));
  };
  async function* generate(request: EngineRequest, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    const anySignal = AbortSignal.any([signal, lifetime.signal]);
    anySignal.throwIfAborted();
    requests.push(request);
    running += 1;
    try {
      yield* play(script(request, requests.length), { signal: anySignal, close });
    } finally {
      running -= 1;
    }
  }
  return {
    requests,
    activeRequests: () => running,
    describe: () => ({ ...defaultDescription, ...changes }),
    generate,
    embed: async ({ texts }) => ({
      vectors: texts.map((text) => Float32Array.of(text.length, 1)),
      tokens: texts.reduce((sum, text) => sum + splitWords(text).length, 0),
    }),
    rank: async (_query, documents) => documents.map((document) => document.length),
    tokenize: async (text) => splitWords(text).map((_word, index) => index),
    render: async (conversation) => renderPlainText(conversation),
    count: async (conversation) => splitWords(renderPlainText(conversation)).length,
    unload: async () => close(undefined),
    closed: closed.promise,
    [Symbol.asyncDispose]: async () => close(undefined),
  };
}

type Playback = { readonly signal: AbortSignal; readonly close: (failure: EngineFailure) => void };

async function* play(
  steps: Iterable<FakeEngineStep>,
  { signal, close }: Playback,
): AsyncGenerator<EngineEvent> {
  const startedAt = performance.now();
  let outputTokens = 0;
  for (const step of steps) {
    signal.throwIfAborted();
    switch (step.do) {
      case "write":
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
      case "crash":
        close(step.failure);
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

const defaultDescription: EngineDescription = {
  driver: "fake",
  metadata: {},
  chatTemplate: null,
  templateCapabilities: undefined,
  trainedContextTokens: 4096,
  contextTokens: 4096,
  sequences: 1,
  threads: 1,
  gpu: false,
  memoryBytes: { model: 0, context: 0 },
  splitsEvents: false,
  canFillInTheMiddle: false,
  canSeeImages: false,
  canHearAudio: false,
};

function renderPlainText({ messages }: Conversation): string {
  return messages.map(({ role, content }) => `${role}: ${content ?? ""}`).join("\n");
}

function splitWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
