import type { EngineEvent } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { estimateConversation } from "./estimate-tokens.ts";
import type { OutputEvent } from "./events.ts";
import type { OutputMeterOptions } from "./output-meter.ts";
import { splitOutput } from "./split-output.ts";
import { plainPlan } from "./test/collect-output.ts";

const never = new AbortController().signal;
const usage = { promptTokens: 3, cachedTokens: 0, outputTokens: 40 };
const timings = { promptMilliseconds: 1, outputMilliseconds: 2 };
const thinking: readonly EngineEvent[] = [
  { type: "reasoning-delta", text: "Let me think about it." },
  { type: "text-delta", text: "It is four." },
  { type: "generation-end", reason: "stop", usage, timings },
];

async function* stream(events: Iterable<EngineEvent>): AsyncGenerator<EngineEvent> {
  yield* events;
}

async function split(
  events: AsyncIterable<EngineEvent> | Iterable<EngineEvent>,
  changes: Partial<OutputMeterOptions> & { readonly stops?: readonly string[] } = {},
) {
  const { stops = [], ...options } = changes;
  const source = Symbol.asyncIterator in events ? events : stream(events);
  const all = await Array.fromAsync(
    splitOutput(
      source,
      { ...plainPlan, stops },
      { signal: never, countTokens: async (text) => text.length, ...options },
    ),
  );
  return { all, end: all.at(-1) };
}

const cannotCount: OutputMeterOptions["countTokens"] = () => Promise.reject(new Error("404"));
const neverRespond: OutputMeterOptions["countTokens"] = (_text, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

const textsOf = (events: readonly OutputEvent[]): number =>
  events.filter(({ type }) => type === "text-delta" || type === "reasoning-delta").length;

test("thinking tokens are estimated if the engine cannot count them", async () => {
  const { all, end } = await split(thinking, { countTokens: cannotCount });
  expect(textsOf(all)).toBe(2);
  expect(end).toMatchObject({ reason: "stop", usage: { outputTokens: 40, reasoningTokens: 6 } });
  const counted = await split(thinking, { countTokens: async () => 9 });
  expect(counted.end).toMatchObject({ usage: { reasoningTokens: 9 } });
});

test("output and thinking tokens are estimated for output that Hearth stops, if the engine cannot count them", async () => {
  const { end } = await split(thinking, { countTokens: cannotCount, stops: [" four"] });
  expect(end).toMatchObject({
    reason: "stop-sequence",
    usage: { outputTokens: Math.ceil("Let me think about it.It is four.".length / 4), reasoningTokens: 6 },
  });
});

test("an engine that does not respond to a count does not delay the end", async () => {
  const startedAt = performance.now();
  const { end } = await split(thinking, { countTokens: neverRespond });
  expect(end).toMatchObject({ usage: { reasoningTokens: 6 } });
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

test("a client that disconnects during a count gets the abort reason, not an estimate", async () => {
  const client = new AbortController();
  const countTokens = () => {
    client.abort(new Error("gone"));
    return Promise.reject(new Error("404"));
  };
  await expect(split(thinking, { countTokens, signal: client.signal })).rejects.toThrow("gone");
});

const image = (bytes: number) => ({ bytes: new Uint8Array(bytes), mediaType: "image/png" });

const estimateImage = (bytes: number) =>
  estimateConversation({ messages: [{ role: "user", content: "What is it?", images: [image(bytes)] }] });

test("each image counts the same, whatever its size in bytes", () => {
  expect(estimateImage(1024 ** 2)).toBe(estimateImage(10));
  expect(estimateImage(10)).toBeGreaterThan(
    estimateConversation({ messages: [{ role: "user", content: "What is it?" }] }),
  );
  expect(estimateImage(10)).toBeLessThan(200);
});
