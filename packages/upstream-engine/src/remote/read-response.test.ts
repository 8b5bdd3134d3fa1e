import { expect, test } from "vitest";
import { readResponse } from "./read-response.ts";

const options = { isBareCall: false, maxTokens: 100 };
const chunk = (delta: unknown, more = {}): unknown => ({ choices: [{ delta }], ...more });
const end = { choices: [{ delta: {}, finish_reason: "stop" }] };

async function* streamOf(chunks: Iterable<unknown>): AsyncGenerator {
  yield* chunks;
}

const call = (argumentsText: string): unknown =>
  chunk({ tool_calls: [{ index: 0, id: "1", function: { name: "add", arguments: argumentsText } }] });

test.each<[string, (index: number) => unknown]>([
  [
    "reports its count",
    (index) => chunk({ content: "four" }, { usage: { prompt_tokens: 3, completion_tokens: index } }),
  ],
  ["reports no count", () => chunk({ content: "four" })],
  ["only reasons", () => chunk({ reasoning: "hmm " })],
  ["calls a tool", () => call("four")],
  ["writes one character at a time", () => chunk({ content: "a" })],
  ["writes much at a time", () => chunk({ content: "a".repeat(100_000) })],
  [
    "sends tokens without text",
    () => ({ choices: [{ delta: {}, logprobs: { content: [{ token: "", logprob: 0 }] } }] }),
  ],
])("an engine that never stops and %s is aborted, and the response ends with length", async (_how, next) => {
  let isClosed = false;
  async function* endless(): AsyncGenerator {
    try {
      for (let index = 0; ; index += 1) yield next(index);
    } finally {
      isClosed = true;
    }
  }
  const events = await Array.fromAsync(readResponse(endless(), options));
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "length" });
  expect(events.length).toBeLessThan(8 * 264 + 10);
  expect(isClosed).toBe(true);
});

test.each<[string, readonly unknown[]]>([
  ["one token per chunk", Array.from({ length: 100 }, () => chunk({ content: "four" }))],
  ["one character per chunk", Array.from({ length: 500 }, () => chunk({ content: "a" }))],
  ["everything in one chunk", [chunk({ content: "a".repeat(600) })]],
])("a response of the requested length is not truncated: %s", async (_how, chunks) => {
  const events = await Array.fromAsync(readResponse(streamOf([...chunks, end]), options));
  expect(events.filter(({ type }) => type === "text-delta")).toHaveLength(chunks.length);
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
});

test("a response that ends on its own keeps its finish reason, however long it is", async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 999 };
  const events = await Array.fromAsync(
    readResponse(streamOf([chunk({ content: "long" }), end, { usage }]), options),
  );
  expect(events.at(-1)).toMatchObject({ reason: "stop", usage: { outputTokens: 999 } });
});
