import { expect, test } from "vitest";
import { readAnswer } from "./read-response.ts";

const plan = { isBareCall: false, maxTokens: 100 };
const piece = (delta: unknown, more = {}): unknown => ({ choices: [{ delta }], ...more });
const end = { choices: [{ delta: {}, finish_reason: "stop" }] };

async function* play(pieces: Iterable<unknown>): AsyncGenerator {
  yield* pieces;
}

const call = (argumentsText: string): unknown =>
  piece({ tool_calls: [{ index: 0, id: "1", function: { name: "add", arguments: argumentsText } }] });

test.each<[string, (index: number) => unknown]>([
  [
    "tells its count",
    (index) => piece({ content: "four" }, { usage: { prompt_tokens: 3, completion_tokens: index } }),
  ],
  ["tells none", () => piece({ content: "four" })],
  ["only thinks", () => piece({ reasoning: "hmm " })],
  ["calls a tool", () => call("four")],
  ["writes one character at a time", () => piece({ content: "a" })],
  ["writes much at a time", () => piece({ content: "a".repeat(100_000) })],
  [
    "sends tokens without a text",
    () => ({ choices: [{ delta: {}, logprobs: { content: [{ token: "", logprob: 0 }] } }] }),
  ],
])("an engine that does not end and %s is cut off: its answer ends by its length", async (_how, next) => {
  let isClosed = false;
  async function* endless(): AsyncGenerator {
    try {
      for (let index = 0; ; index += 1) yield next(index);
    } finally {
      isClosed = true;
    }
  }
  const events = await Array.fromAsync(readAnswer(endless(), plan));
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "length" });
  expect(events.length).toBeLessThan(8 * 264 + 10);
  expect(isClosed).toBe(true);
});

test.each<[string, readonly unknown[]]>([
  ["one token in a piece", Array.from({ length: 100 }, () => piece({ content: "four" }))],
  ["a token's characters one by one", Array.from({ length: 500 }, () => piece({ content: "a" }))],
  ["all of it in one piece", [piece({ content: "a".repeat(600) })]],
])("an answer as long as was asked for is left whole: %s", async (_how, pieces) => {
  const events = await Array.fromAsync(readAnswer(play([...pieces, end]), plan));
  expect(events.filter(({ type }) => type === "text-delta")).toHaveLength(pieces.length);
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
});

test("an answer that came to its own end keeps its reason, however long it is", async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 999 };
  const events = await Array.fromAsync(readAnswer(play([piece({ content: "long" }), end, { usage }]), plan));
  expect(events.at(-1)).toMatchObject({ reason: "stop", usage: { outputTokens: 999 } });
});
