import type { Tool } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngine, type FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { ResolvedRequest } from "./request.ts";
import { resolveSampling } from "./sampling.ts";

const clock: Tool = { name: "clock", parameters: { type: "object", additionalProperties: false } };
const call = '<tool_call>{"name": "clock", "arguments": {}}</tool_call>';

const request: ResolvedRequest = {
  ...resolveSampling({ maxTokens: 1000 }, {}),
  input: {
    type: "conversation",
    conversation: { messages: [{ role: "user", content: "What time is it?" }], tools: [clock] },
  },
  toolChoice: { type: "auto" },
  constraint: { type: "json" },
  cachePartition: "",
};

/** Writes a document under the constraint, and the text without it. */
const engineWriting = (chunks: readonly string[], reason: "stop" | "length" = "stop"): FakeEngine =>
  createFakeEngine(
    ({ constraint }) => {
      const texts = constraint === undefined ? chunks : ['{"time": 12}'];
      const steps = texts.map((text): FakeEngineStep => ({ do: "write", text }));
      return [...steps, { do: "end", reason: constraint === undefined ? reason : "stop" }];
    },
    { chatTemplate: "<tool_call>", templateCapabilities: { tools: true, thinking: false } },
  );

const read = (engine: FakeEngine): Promise<OutputEvent[]> =>
  Array.fromAsync(generate(engine, request, new AbortController().signal));
const textOf = (events: readonly OutputEvent[]): string =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

test("a call that the model announces in a sentence is lost with a response format: it is made, without the sentence", async () => {
  for (const announcement of [["Let me look at the clock. "], ["Let ", "me ", "look:", "\n\n"]]) {
    const engine = engineWriting([...announcement, call, "\nDone."]);
    const events = await read(engine);
    expect(events.map(({ type }) => type).filter((type) => type !== "tool-call-delta")).toEqual([
      "tool-call-start",
      "tool-call-end",
      "generation-end",
    ]);
    expect(events.at(-1)).toMatchObject({
      reason: "tool-calls",
      usage: { outputTokens: announcement.length + 2 },
    });
    expect(engine.requests).toHaveLength(1);
  }
});

test("a response under a format waits for no more text than announces a call", async () => {
  const word = "word ";
  const long = engineWriting([...Array.from({ length: 200 }, () => word), call]);
  expect(textOf(await read(long))).toBe('{"time": 12}');
  expect(long.requests.map(({ constraint }) => constraint?.type)).toEqual([undefined, "json"]);
  for (const start of ['{"time"', "[1", '"noon"', "```json\n{"]) {
    const started = engineWriting([start, ` and then ${call}`]);
    expect(textOf(await read(started))).toBe('{"time": 12}');
  }
});

test("a token limit within the announcement leaves its tokens to the response", async () => {
  const engine = engineWriting(["It is ", "noon"], "length");
  const events = await read(engine);
  expect(textOf(events)).toBe('{"time": 12}');
  expect(events.at(-1)).toMatchObject({ reason: "stop", usage: { outputTokens: 1 } });
});
