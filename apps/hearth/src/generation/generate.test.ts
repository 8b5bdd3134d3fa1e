import type { Engine, Tool } from "@hearth-and-keep/engine";
import { createScriptedEngine, type ScriptedEngine } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GenerationEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { GenerationRequest } from "./request.ts";
import { settleSampling } from "./sampling.ts";

const never = new AbortController().signal;
const weather: Tool = {
  name: "weather",
  description: "Tells the weather",
  parameters: {
    type: "object",
    properties: { city: { enum: ["Bern", "Rome"] } },
    required: ["city"],
    additionalProperties: false,
  },
};
const clock: Tool = { name: "clock", parameters: { type: "object", additionalProperties: false } };

function ask(text: string, changes: Partial<GenerationRequest> = {}): GenerationRequest {
  const messages = [{ role: "user", content: text }] as const;
  return {
    ...settleSampling({ temperature: 0, seed: 1, mostTokens: 48 }, {}),
    input: { type: "conversation", conversation: { messages, tools: [weather, clock] } },
    toolChoice: { type: "auto" },
    cachePartition: "",
    ...changes,
  };
}

function read(engine: Engine, request: GenerationRequest): Promise<GenerationEvent[]> {
  return Array.fromAsync(generate(engine, request, never));
}

function textOf(events: readonly GenerationEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

/** What the engine was given. */
function received(engine: ScriptedEngine) {
  const asked = engine.requests.at(-1);
  if (asked?.input.type !== "conversation") throw new Error("Cannot look: no conversation was received");
  return { ...asked, conversation: asked.input.conversation };
}

const takesTools = { templateAbilities: { tools: true, thinking: false } };
const saying = (text: string, changes = {}) =>
  createScriptedEngine(
    () => [
      { do: "say", text },
      { do: "end", reason: "stop" },
    ],
    { ...takesTools, ...changes },
  );

test("tools reach the model when it may call them, and are hidden when it may not", async () => {
  const engine = saying("Hello");
  await read(engine, ask("Hi"));
  expect(received(engine).conversation.tools).toEqual([weather, clock]);
  expect(received(engine).constraint).toBeUndefined();
  await read(engine, ask("Hi", { toolChoice: { type: "none" } }));
  expect(received(engine).conversation.tools).toEqual([]);
});

test("a call that is required is forced by a constraint, of the named tool alone when one is named", async () => {
  const engine = saying('<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call>');
  const events = await read(engine, ask("Hi", { toolChoice: { type: "required", mostCalls: 1 } }));
  expect(received(engine)).toMatchObject({
    constraint: { type: "tool-calls", tools: [weather, clock], mostCalls: 1 },
    conversation: { thinking: false },
  });
  expect(events).toContainEqual({ type: "tool-call-end", index: 0, arguments: {} });
  expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "tool-calls" });
  await read(engine, ask("Hi", { toolChoice: { type: "required", toolName: "clock" } }));
  expect(received(engine)).toMatchObject({
    constraint: { tools: [clock] },
    conversation: { tools: [clock] },
  });
});

test("where one call is allowed, the answer ends with it and the engine is stopped", async () => {
  const call = '<tool_call>\n{"name": "clock", "arguments": {}}\n</tool_call>';
  const engine = createScriptedEngine(
    () => [
      { do: "say", text: call },
      { do: "say", text: call },
      { do: "wait", milliseconds: 60_000 },
    ],
    takesTools,
  );
  const events = await read(engine, ask("Hi", { toolChoice: { type: "auto", mostCalls: 1 } }));
  expect(events.filter(({ type }) => type === "tool-call-end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ reason: "tool-calls", usage: { outputTokens: expect.any(Number) } });
  await expect.poll(() => engine.underWay()).toBe(0);
});

test("a template without tools has them told in the system text, one with tools does not", async () => {
  const without = saying("Hello", { templateAbilities: { tools: false, thinking: false } });
  await read(without, ask("Hi"));
  const [first, second] = received(without).conversation.messages;
  expect(first).toMatchObject({ role: "system", content: expect.stringContaining('"name":"weather"') });
  expect(second).toMatchObject({ role: "user", content: "Hi" });
  const withTools = saying("Hello");
  await read(withTools, ask("Hi"));
  expect(received(withTools).conversation.messages).toEqual([{ role: "user", content: "Hi" }]);
});

test("a raw prompt's answer is given as it comes, tags and calls included", async () => {
  const text = '<think>a</think><tool_call>{"name": "clock", "arguments": {}}</tool_call>';
  const engine = saying(text, { chatTemplate: "<think></think><tool_call>" });
  const events = await read(engine, ask("", { input: { type: "raw", prompt: "Say it" } }));
  expect(textOf(events)).toBe(text);
});

test("an answer within a schema is not read for thoughts or calls", async () => {
  const engine = saying('{"name": "clock", "arguments": {}}', { chatTemplate: "<think></think><tool_call>" });
  const events = await read(engine, ask("Hi", { constraint: { type: "json" } }));
  expect(textOf(events)).toBe('{"name": "clock", "arguments": {}}');
});

test("grammar applied to thinking, or ignored: an answer in a form is thought about first when the caller asks, and only then", async () => {
  const template = "<think></think>";
  const engine = createScriptedEngine(
    ({ constraint }) => [
      { do: "say", text: constraint === undefined ? "<think>Let me see</think>Sure" : '{"sum": 4}' },
      { do: "end", reason: "stop" },
    ],
    { ...takesTools, chatTemplate: template },
  );
  const messages = [{ role: "user", content: "2 + 2?" }] as const;
  const json = { type: "json" } as const;
  const input = (thinking: boolean) =>
    ({ type: "conversation", conversation: { messages, thinking } }) as const;
  const thought = await read(engine, ask("", { input: input(true), constraint: json }));
  const reasoning = thought.map((event) => (event.type === "reasoning-delta" ? event.text : "")).join("");
  expect([reasoning, textOf(thought)]).toEqual(["Let me see", '{"sum": 4}']);
  expect(thought.at(-1)).toMatchObject({ reason: "stop", usage: { reasoningTokens: 3, outputTokens: 4 } });
  const [free, within] = engine.requests;
  expect([free?.constraint, within?.constraint]).toEqual([undefined, json]);
  expect(within?.input).toMatchObject({
    type: "raw",
    prompt: expect.stringContaining("Let me see\n</think>"),
  });
  const plain = await read(engine, ask("", { input: input(false), constraint: json }));
  expect(plain.some(({ type }) => type === "reasoning-delta")).toBe(false);
  expect(textOf(plain)).toBe('{"sum": 4}');
  expect(engine.requests).toHaveLength(3);
});

test("a stop sequence ends the answer, counts what was written, and stops the engine", async () => {
  const engine = createScriptedEngine(() => [
    { do: "say", text: "one " },
    { do: "say", text: "two ST" },
    { do: "say", text: "OP three" },
    { do: "wait", milliseconds: 60_000 },
  ]);
  const events = await read(engine, ask("Hi", { stops: ["STOP"] }));
  expect(textOf(events)).toBe("one two ");
  expect(events.at(-1)).toMatchObject({
    reason: "stop-sequence",
    stopSequence: "STOP",
    usage: { outputTokens: 3 },
  });
  await expect.poll(() => engine.underWay()).toBe(0);
});

let smol: Engine;
beforeAll(async () => {
  const modelPath = await testModel("smollm2-135m-instruct-q4_1.gguf");
  const plan = { modelPath, contextTokens: 1024, sequences: 1, threads: 1, gpuLayers: 0 } as const;
  const parts = { signal: never, onProgress: () => undefined };
  smol = await createLlamaDriver().load({ ...plan, purpose: "generate" }, parts);
}, 300_000);
afterAll(() => smol.unload());

test("on real weights a required call is written, with arguments its schema allows", async () => {
  expect(smol.describe().templateAbilities).toMatchObject({ tools: false });
  const request = ask("What is the weather in Rome?", {
    toolChoice: { type: "required", toolName: "weather", mostCalls: 1 },
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

test("on real weights a stop string is never seen, wherever the engine cuts its text", async () => {
  const plain = ask("Count from one to twenty.", { toolChoice: { type: "none" } });
  const whole = textOf(await read(smol, plain));
  const places = [4, 9, 15, 22, 30].filter((place) => place + 5 <= whole.length);
  for (const place of places) {
    const stop = whole.slice(place, place + 5);
    const events = await read(smol, { ...plain, stops: [stop] });
    expect(textOf(events)).toBe(whole.slice(0, whole.indexOf(stop)));
    expect(events.at(-1)).toMatchObject({ reason: "stop-sequence", stopSequence: stop });
  }
  recordFigure({
    claim: "engine 13",
    text: `${places.length} of ${places.length} stop strings ended an answer of SmolLM2 right before themselves`,
    counted: { reached: places.length, needed: 5 },
  });
});
