/**
 * @module
 * For parser tests: splits a raw text in every way an engine may chunk it, and collects the parsed output.
 * Texts are split between bytes and delivered as complete characters, as the engine's decoder does.
 * Imported by the tests of `generation/` only.
 */
import type { EngineEvent, JsonObject } from "@hearth-and-keep/engine";
import type { OutputEvent } from "../events.ts";
import { type OutputPlan, splitOutput } from "../split-output.ts";

export type CollectedOutput = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly {
    readonly name: string;
    readonly id: string;
    readonly argumentsText: string;
    readonly arguments: JsonObject | undefined;
  }[];
  readonly failures: readonly Extract<OutputEvent, { type: "tool-call-fail" }>[];
  readonly end: Extract<OutputEvent, { type: "generation-end" }> | undefined;
  readonly events: readonly OutputEvent[];
};

export const plainPlan: OutputPlan = {
  format: { type: "split" },
  startsInReasoning: false,
  tools: [],
  stops: [],
};

/** Parses the chunks of a raw text as one output. */
export async function collectOutput(
  chunks: readonly string[],
  plan: OutputPlan,
  reason: "stop" | "length" = "stop",
): Promise<CollectedOutput> {
  const events = await Array.fromAsync(
    splitOutput(emitText(chunks, reason), plan, {
      signal: new AbortController().signal,
      countTokens: async (text) => text.length,
    }),
  );
  return summarize(events);
}

async function* emitText(chunks: readonly string[], reason: "stop" | "length"): AsyncGenerator<EngineEvent> {
  yield { type: "prompt-progress", evaluated: 7, total: 7, cached: 3 };
  for (const text of chunks) yield { type: "text-delta", text };
  const outputTokens = chunks.join("").length;
  yield {
    type: "generation-end",
    reason,
    usage: { promptTokens: 7, cachedTokens: 3, outputTokens },
    timings: { promptMilliseconds: 1, outputMilliseconds: 2 },
  };
}

function summarize(events: readonly OutputEvent[]): CollectedOutput {
  const ofType = <Type extends OutputEvent["type"]>(type: Type) =>
    events.filter((event): event is Extract<OutputEvent, { type: Type }> => event.type === type);
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

/** The text in two chunks, split at each byte in turn. */
export function splitAtEveryByte(text: string): string[][] {
  const { length } = new TextEncoder().encode(text);
  return Array.from({ length: length + 1 }, (_, at) => splitAt(text, [at]));
}

/** One chunk per byte; a character arrives with its last byte. */
export function byteByByte(text: string): string[] {
  const { length } = new TextEncoder().encode(text);
  return splitAt(
    text,
    Array.from({ length }, (_, at) => at),
  );
}

/** Splits at the given byte offsets; a character split in the middle arrives with its last byte. */
export function splitAt(text: string, offsets: readonly number[]): string[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const edges = [0, ...offsets, bytes.length];
  return edges
    .slice(1)
    .map((edge, index) => decoder.decode(bytes.subarray(edges[index], edge), { stream: true }))
    .filter((chunk) => chunk !== "");
}

/** Splits at random bytes, reproducible by seed. */
export function splitAtRandom(text: string, seed: number): string[] {
  const { length } = new TextEncoder().encode(text);
  let state = seed * 2_654_435_761 + 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const offsets = Array.from({ length: 1 + Math.floor(next() * 12) }, () => Math.floor(next() * length));
  return splitAt(
    text,
    offsets.toSorted((left, right) => left - right),
  );
}
