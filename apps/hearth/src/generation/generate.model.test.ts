import type { Engine, Tool } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngine } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { ResolvedRequest } from "./request.ts";
import { resolveSampling } from "./sampling.ts";
import { loadSmol } from "./test/load-smol.ts";

const never = new AbortController().signal;
const weather: Tool = {
  name: "weather",
  description: "Returns the weather",
  parameters: {
    type: "object",
    properties: { city: { enum: ["Bern", "Rome"] } },
    required: ["city"],
    additionalProperties: false,
  },
};
const clock: Tool = { name: "clock", parameters: { type: "object", additionalProperties: false } };

function chat(text: string, changes: Partial<ResolvedRequest> = {}): ResolvedRequest {
  const messages = [{ role: "user", content: text }] as const;
  return {
    ...resolveSampling({ temperature: 0, seed: 1, maxTokens: 48 }, {}),
    input: { type: "conversation", conversation: { messages, tools: [weather, clock] } },
    toolChoice: { type: "auto" },
    cachePartition: "",
    ...changes,
  };
}

function read(engine: Engine, request: ResolvedRequest): Promise<OutputEvent[]> {
  return Array.fromAsync(generate(engine, request, never));
}

function textOf(events: readonly OutputEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

/** The last request that reached the engine. */
function received(engine: FakeEngine) {
  const request = engine.requests.at(-1);
  if (request?.input.type !== "conversation") throw new Error("The engine received no conversation");
  return { ...request, conversation: request.input.conversation };
}

const supportsTools = { templateCapabilities: { tools: true, thinking: false } };
const engineWriting = (text: string, changes = {}) =>
  createFakeEngine(
    () => [
      { do: "write", text },
      { do: "end", reason: "stop" },
    ],
    { ...supportsTools, ...changes },
  );

test("tools are rendered for the model, unless the tool choice is none", async () => {
  const engine = engineWriting("Hello");
  await read(engine, chat("Hi"));
  expect(received(engine).conversation.tools).toEqual([weather, clock]);
  expect(received(engine).constraint).toBeUndefined();
  await read(engine, chat("Hi", { toolChoice: { type: "none" } }));
  expect(received(engine).conversation.tools).toEqual([]);
});

test("a required call is forced by a constraint, limited to the named tool if there is one", async () => {
  const engine = engineWriting('<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call>');
  const events = await read(engine, chat("Hi", { toolChoice: { type: "required", maxCalls: 1 } }));
  expect(received(engine)).toMatchObject({
    constraint: { type: "tool-calls", tools: [weather, clock], maxCalls: 1 },
    conversation: { thinking: false },
  });
  expect(events).toContainEqual({ type: "tool-call-end", index: 0, arguments: {} });
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "tool-calls" });
  await read(engine, chat("Hi", { toolChoice: { type: "required", toolName: "clock" } }));
  expect(received(engine)).toMatchObject({
    constraint: { tools: [clock] },
    conversation: { tools: [clock] },
  });
});

test("with a limit of one call, generation and engine stop after it", async () => {
  const call = '<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call>';
  const engine = createFakeEngine(
    () => [
      { do: "write", text: call },
      { do: "write", text: call },
      { do: "wait", milliseconds: 60_000 },
    ],
    supportsTools,
  );
  const events = await read(engine, chat("Hi", { toolChoice: { type: "auto", maxCalls: 1 } }));
  expect(events.filter(({ type }) => type === "tool-call-end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ reason: "tool-calls", usage: { outputTokens: expect.any(Number) } });
  await expect.poll(() => engine.activeRequests()).toBe(0);
});

test("tools are described in the system message only if the template cannot render them", async () => {
  const without = engineWriting("Hello", { templateCapabilities: { tools: false, thinking: false } });
  await read(without, chat("Hi"));
  const [first, second] = received(without).conversation.messages;
  expect(first).toMatchObject({ role: "system", content: expect.stringContaining('"name":"weather"') });
  expect(second).toMatchObject({ role: "user", content: "Hi" });
  const withTools = engineWriting("Hello");
  await read(withTools, chat("Hi"));
  expect(received(withTools).conversation.messages).toEqual([{ role: "user", content: "Hi" }]);
});

test("the output of a raw prompt is passed on unchanged, including tags and calls", async () => {
  const text = '<think>a</think><tool_call>{"name": "clock", "arguments": {}}</tool_call>';
  const engine = engineWriting(text, { chatTemplate: "<think></think><tool_call>" });
  const events = await read(engine, chat("", { input: { type: "raw", prompt: "Say it" } }));
  expect(textOf(events)).toBe(text);
});

test("constrained output is not parsed for thinking or calls", async () => {
  const engine = engineWriting('{"name": "clock", "arguments": {}}', {
    chatTemplate: "<think></think><tool_call>",
  });
  const events = await read(engine, chat("Hi", { constraint: { type: "json" } }));
  expect(textOf(events)).toBe('{"name": "clock", "arguments": {}}');
});

test("grammar applied to thinking, or ignored: constrained output has a separate thinking pass only if thinking is requested", async () => {
  const template = "<think></think>";
  const engine = createFakeEngine(
    ({ constraint }) => [
      { do: "write", text: constraint === undefined ? "<think>Let me see</think>Sure" : '{"sum": 4}' },
      { do: "end", reason: "stop" },
    ],
    { ...supportsTools, chatTemplate: template },
  );
  const messages = [{ role: "user", content: "2 + 2?" }] as const;
  const json = { type: "json" } as const;
  const input = (thinking: boolean) =>
    ({ type: "conversation", conversation: { messages, thinking } }) as const;
  const withThinking = await read(engine, chat("", { input: input(true), constraint: json }));
  const reasoning = withThinking
    .map((event) => (event.type === "reasoning-delta" ? event.text : ""))
    .join("");
  expect([reasoning, textOf(withThinking)]).toEqual(["Let me see", '{"sum": 4}']);
  expect(withThinking.at(-1)).toMatchObject({
    reason: "stop",
    usage: { reasoningTokens: 3, outputTokens: 4 },
  });
  const [thinkingPass, responsePass] = engine.requests;
  expect([thinkingPass?.constraint, responsePass?.constraint]).toEqual([undefined, json]);
  expect(responsePass?.input).toMatchObject({
    type: "raw",
    prompt: expect.stringContaining("Let me see\n</think>"),
  });
  const plain = await read(engine, chat("", { input: input(false), constraint: json }));
  expect(plain.some(({ type }) => type === "reasoning-delta")).toBe(false);
  expect(textOf(plain)).toBe('{"sum": 4}');
  expect(engine.requests).toHaveLength(3);
});

/** Writes a JSON object if it has to, and the text if it is free. */
const engineWithFormat = (text: string) =>
  createFakeEngine(
    ({ constraint }) => [
      { do: "write", text: constraint === undefined ? text : '{"sum": 4}' },
      { do: "end", reason: "stop" },
    ],
    { ...supportsTools, chatTemplate: "<tool_call>" },
  );

test("agents with a response format could never call their tools: a call comes before the format, a response in it", async () => {
  const call = '<tool_call>{"name": "clock", "arguments": {}}</tool_call>';
  const json = { type: "json" } as const;
  const calling = engineWithFormat(call);
  const called = await read(calling, chat("Hi", { constraint: json }));
  expect([called.at(0), ...called.slice(-2)]).toMatchObject([
    { type: "tool-call-start", name: "clock" },
    { type: "tool-call-end", arguments: {} },
    { type: "generation-end", reason: "tool-calls" },
  ]);
  expect(calling.requests.map(({ constraint }) => constraint)).toEqual([undefined]);
  const responding = engineWithFormat("Four");
  const response = await read(responding, chat("Hi", { constraint: json }));
  expect(textOf(response)).toBe('{"sum": 4}');
  expect(response.at(-1)).toMatchObject({ reason: "stop", usage: { outputTokens: 1, reasoningTokens: 0 } });
  expect(responding.requests.map(({ constraint }) => constraint)).toEqual([undefined, json]);
  const silent = engineWithFormat(call);
  const choices = [{ type: "none" }, { type: "required" }] as const;
  for (const toolChoice of choices) await read(silent, chat("Hi", { constraint: json, toolChoice }));
  expect(silent.requests.map(({ constraint }) => constraint?.type)).toEqual(["json", "tool-calls"]);
});

test("a stop sequence ends the output, counts its tokens and stops the engine", async () => {
  const engine = createFakeEngine(() => [
    { do: "write", text: "one " },
    { do: "write", text: "two ST" },
    { do: "write", text: "OP three" },
    { do: "wait", milliseconds: 60_000 },
  ]);
  const events = await read(engine, chat("Hi", { stops: ["STOP"] }));
  expect(textOf(events)).toBe("one two ");
  expect(events.at(-1)).toMatchObject({
    reason: "stop-sequence",
    stopSequence: "STOP",
    usage: { outputTokens: 3 },
  });
  await expect.poll(() => engine.activeRequests()).toBe(0);
});

let smol: Engine;
beforeAll(async () => {
  smol = await loadSmol();
}, 300_000);
afterAll(() => smol.unload());

test("on real weights a required call is made, with arguments that match its schema", async () => {
  expect(smol.describe().templateCapabilities).toMatchObject({ tools: false });
  const request = chat("What is the weather in Rome?", {
    toolChoice: { type: "required", toolName: "weather", maxCalls: 1 },
  });
  const events = await read(smol, request);
  expect(events).toContainEqual(expect.objectContaining({ type: "tool-call-start", name: "weather" }));
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "tool-call-end",
      arguments: { city: expect.stringMatching(/^(Bern|Rome)$/) },
    }),
  );
  expect(textOf(events)).toBe("");
});

test("on real weights with tools, a response is in its format, from the same prompt", async () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const constraint = { type: "json-schema", schema: { ...schema, additionalProperties: false } } as const;
  const events = await read(smol, chat("Is water wet?", { constraint }));
  expect(JSON.parse(textOf(events))).toEqual({ ok: expect.any(Boolean) });
  const end = events.find((event) => event.type === "generation-end");
  expect(end).toMatchObject({ reason: "stop", usage: { reasoningTokens: 0 } });
  expect(events.filter(({ type }) => type === "generation-end")).toHaveLength(1);
  const progress = events.find((event) => event.type === "prompt-progress");
  expect(end?.usage.promptTokens).toBe(progress?.total);
});

test("on real weights a stop sequence is never emitted, whatever the chunk boundaries", async () => {
  const plain = chat("Count from one to twenty.", { toolChoice: { type: "none" } });
  const complete = textOf(await read(smol, plain));
  const offsets = [4, 9, 15, 22, 30].filter((offset) => offset + 5 <= complete.length);
  for (const offset of offsets) {
    const stop = complete.slice(offset, offset + 5);
    const events = await read(smol, { ...plain, stops: [stop] });
    expect(textOf(events)).toBe(complete.slice(0, complete.indexOf(stop)));
    expect(events.at(-1)).toMatchObject({ reason: "stop-sequence", stopSequence: stop });
  }
  recordFigure({
    claim: "engine 13",
    text: `${offsets.length} of ${offsets.length} stop sequences ended the output of SmolLM2 right before themselves`,
    counted: { reached: offsets.length, needed: 5 },
  });
});
