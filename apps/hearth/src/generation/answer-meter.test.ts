import type { EngineEvent } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import type { AnswerParts } from "./answer-meter.ts";
import { estimateConversation } from "./estimate-tokens.ts";
import type { GenerationEvent } from "./events.ts";
import { splitAnswer } from "./split-answer.ts";
import { plainPlan } from "./test/read-answer.ts";

const never = new AbortController().signal;
const usage = { promptTokens: 3, cachedTokens: 0, outputTokens: 40 };
const timings = { promptMilliseconds: 1, outputMilliseconds: 2 };
const thinking: readonly EngineEvent[] = [
  { type: "reasoning-delta", text: "Let me think about it." },
  { type: "text-delta", text: "It is four." },
  { type: "generation-end", reason: "stop", usage, timings },
];

async function* play(events: Iterable<EngineEvent>): AsyncGenerator<EngineEvent> {
  yield* events;
}

async function answer(
  events: AsyncIterable<EngineEvent> | Iterable<EngineEvent>,
  changes: Partial<AnswerParts> & { readonly stops?: readonly string[] } = {},
) {
  const { stops = [], ...parts } = changes;
  const stream = Symbol.asyncIterator in events ? events : play(events);
  const all = await Array.fromAsync(
    splitAnswer(
      stream,
      { ...plainPlan, stops },
      { signal: never, countTokens: async (text) => text.length, ...parts },
    ),
  );
  return { all, end: all.at(-1) };
}

const cannotCount: AnswerParts["countTokens"] = () => Promise.reject(new Error("404"));
const keepSilent: AnswerParts["countTokens"] = (_text, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

const textsOf = (events: readonly GenerationEvent[]): number =>
  events.filter(({ type }) => type === "text-delta" || type === "reasoning-delta").length;

test("an answer whose engine does not count its thoughts ends as it is, with an estimate", async () => {
  const { all, end } = await answer(thinking, { countTokens: cannotCount });
  expect(textsOf(all)).toBe(2);
  expect(end).toMatchObject({ reason: "stop", usage: { outputTokens: 40, reasoningTokens: 6 } });
  const counted = await answer(thinking, { countTokens: async () => 9 });
  expect(counted.end).toMatchObject({ usage: { reasoningTokens: 9 } });
});

test("an answer that we end is estimated when nobody counts it, its thoughts too", async () => {
  const { end } = await answer(thinking, { countTokens: cannotCount, stops: [" four"] });
  expect(end).toMatchObject({
    reason: "stop-sequence",
    usage: { outputTokens: Math.ceil("Let me think about it.It is four.".length / 4), reasoningTokens: 6 },
  });
});

test("an engine that is silent about a figure does not hold the end of an answer back", async () => {
  const startedAt = performance.now();
  const { end } = await answer(thinking, { countTokens: keepSilent });
  expect(end).toMatchObject({ usage: { reasoningTokens: 6 } });
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("who left while a figure was asked for hears that, and no estimate", async () => {
  const hangUp = new AbortController();
  const countTokens = () => {
    hangUp.abort(new Error("left"));
    return Promise.reject(new Error("404"));
  };
  await expect(answer(thinking, { countTokens, signal: hangUp.signal })).rejects.toThrow("left");
});

const image = (bytes: number) => ({ bytes: new Uint8Array(bytes), mediaType: "image/png" });

const asking = (bytes: number) =>
  estimateConversation({ messages: [{ role: "user", content: "What is it?", images: [image(bytes)] }] });

test("an image is estimated by its number and not by its bytes", () => {
  expect(asking(1024 ** 2)).toBe(asking(10));
  expect(asking(10)).toBeGreaterThan(
    estimateConversation({ messages: [{ role: "user", content: "What is it?" }] }),
  );
  expect(asking(10)).toBeLessThan(200);
});
