/**
 * @module
 * For tests of splitting: a raw text cut in every way an engine may cut it, and an answer read to its end.
 * Cuts are made in bytes and delivered as whole characters, as the engine's decoder does.
 * Imported by the tests of `generation/` only.
 */
import type { EngineEvent, JsonObject } from "@hearth-and-keep/engine";
import type { GenerationEvent } from "../events.ts";
import { type AnswerPlan, splitAnswer } from "../split-answer.ts";

export type Answer = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly {
    readonly name: string;
    readonly id: string;
    readonly argumentsText: string;
    readonly arguments: JsonObject | undefined;
  }[];
  readonly failures: readonly Extract<GenerationEvent, { type: "tool-call-fail" }>[];
  readonly end: Extract<GenerationEvent, { type: "generation-end" }> | undefined;
  readonly events: readonly GenerationEvent[];
};

export const plainPlan: AnswerPlan = {
  format: { type: "split" },
  startsInReasoning: false,
  tools: [],
  stops: [],
};

/** Reads the parts of a raw text as one answer. */
export async function readAnswer(
  parts: readonly string[],
  plan: AnswerPlan,
  reason: "stop" | "length" = "stop",
): Promise<Answer> {
  const events = await Array.fromAsync(
    splitAnswer(say(parts, reason), plan, {
      signal: new AbortController().signal,
      countTokens: async (text) => text.length,
    }),
  );
  return summarize(events);
}

async function* say(parts: readonly string[], reason: "stop" | "length"): AsyncGenerator<EngineEvent> {
  yield { type: "prompt-progress", evaluated: 7, total: 7, cached: 3 };
  for (const text of parts) yield { type: "text-delta", text };
  const outputTokens = parts.join("").length;
  yield {
    type: "generation-end",
    reason,
    usage: { promptTokens: 7, cachedTokens: 3, outputTokens },
    timings: { promptMilliseconds: 1, outputMilliseconds: 2 },
  };
}

function summarize(events: readonly GenerationEvent[]): Answer {
  const ofType = <Type extends GenerationEvent["type"]>(type: Type) =>
    events.filter((event): event is Extract<GenerationEvent, { type: Type }> => event.type === type);
  return {
    text: ofType("text-delta")
      .map(({ text }) => text)
      .join(""),
    reasoning: ofType("reasoning-delta")
      .map(({ text }) => text)
      .join(""),
    calls: ofType("tool-call-start").map(({ index, id, name }) => ({
      name,
      id,
      argumentsText: ofType("tool-call-delta")
        .filter((delta) => delta.index === index)
        .map(({ argumentsText }) => argumentsText)
        .join(""),
      arguments: ofType("tool-call-end").find((end) => end.index === index)?.arguments,
    })),
    failures: ofType("tool-call-fail"),
    end: ofType("generation-end")[0],
    events,
  };
}

/** The text in two parts, cut at each of its bytes in turn. */
export function cutAtEveryByte(text: string): string[][] {
  const { length } = new TextEncoder().encode(text);
  return Array.from({ length: length + 1 }, (_, at) => cutAt(text, [at]));
}

/** One part for each byte, which leaves a character in the part of its last byte. */
export function byteByByte(text: string): string[] {
  const { length } = new TextEncoder().encode(text);
  return cutAt(
    text,
    Array.from({ length }, (_, at) => at),
  );
}

/** Cut at each of the given bytes; a character cut in the middle comes whole with the part that completes it. */
export function cutAt(text: string, places: readonly number[]): string[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const edges = [0, ...places, bytes.length];
  return edges
    .slice(1)
    .map((edge, index) => decoder.decode(bytes.subarray(edges[index], edge), { stream: true }))
    .filter((part) => part !== "");
}

/** Cuts at random bytes, the same for the same seed. */
export function cutAtRandom(text: string, seed: number): string[] {
  const { length } = new TextEncoder().encode(text);
  let state = seed * 2_654_435_761 + 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const places = Array.from({ length: 1 + Math.floor(next() * 12) }, () => Math.floor(next() * length));
  return cutAt(
    text,
    places.toSorted((left, right) => left - right),
  );
}
