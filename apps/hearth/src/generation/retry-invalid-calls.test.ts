import type { Tool } from "@hearth-and-keep/engine";
import {
  createFakeEngine,
  type FakeEngine,
  type FakeEngineScript,
  type FakeEngineStep,
} from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { ResolvedRequest, ToolChoice } from "./request.ts";
import { resolveSampling } from "./sampling.ts";

const parameters = {
  type: "object",
  properties: { city: { enum: ["Bern", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
} as const;
const strict: Tool = { name: "weather", parameters, isStrict: true };
const lenient: Tool = { name: "weather", parameters };
const clock: Tool = { name: "clock", parameters: { type: "object" } };

const callOf = (name: string, values: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`;
const steps = (...texts: readonly string[]): FakeEngineStep[] => [
  ...texts.map((text): FakeEngineStep => ({ do: "write", text })),
  { do: "end", reason: "stop" },
];

/** Writes the first text, and the second one under a constraint. */
const engineWriting = (first: string, underGrammar: string): FakeEngine =>
  startEngine(({ constraint }) => steps(constraint === undefined ? first : underGrammar));
const startEngine = (script: FakeEngineScript): FakeEngine =>
  createFakeEngine(script, {
    chatTemplate: "<tool_call>",
    templateCapabilities: { tools: true, thinking: false },
  });

function requestWith(tools: readonly Tool[], toolChoice: ToolChoice = { type: "auto" }): ResolvedRequest {
  const messages = [{ role: "user", content: "How is the weather?" }] as const;
  return {
    ...resolveSampling({ maxTokens: 50 }, {}),
    input: { type: "conversation", conversation: { messages, tools } },
    toolChoice,
    cachePartition: "",
  };
}

async function read(engine: FakeEngine, request: ResolvedRequest) {
  const events = await Array.fromAsync(generate(engine, request, new AbortController().signal));
  return { events, calls: callsOf(events), end: events.at(-1) };
}

/** Each call as number, name and JSON text, as a client puts them together. */
function callsOf(events: readonly OutputEvent[]): readonly (readonly [number, string, string])[] {
  return events.flatMap((start) => {
    if (start.type !== "tool-call-start") return [];
    const deltas = events.map((event) =>
      event.type === "tool-call-delta" && event.index === start.index ? event.argumentsText : "",
    );
    return [[start.index, start.name, deltas.join("")] as const];
  });
}

test("a strict tool gets arguments that its schema does not allow: the call is generated again under its grammar", async () => {
  const engine = engineWriting(callOf("weather", { town: "Bern" }), callOf("weather", { city: "Bern" }));
  const { calls, events, end } = await read(engine, requestWith([strict, clock]));
  expect(calls).toEqual([[0, "weather", '{"city":"Bern"}']]);
  expect(events.filter(({ type }) => type === "tool-call-start")).toHaveLength(1);
  expect(end).toMatchObject({ reason: "tool-calls", usage: { outputTokens: 2 } });
  const [, second] = engine.requests;
  expect(second).toMatchObject({
    constraint: { type: "tool-calls", tools: [strict], maxCalls: 1 },
    maxTokens: 49,
  });
  expect(second?.input).toMatchObject({
    conversation: {
      messages: [
        { role: "user" },
        { role: "assistant", toolCalls: [{ name: "weather", arguments: { town: "Bern" } }] },
        { role: "tool", toolName: "weather" },
      ],
    },
  });
});

test("valid calls, and calls of tools that are not strict, are generated once", async () => {
  const valid = engineWriting(callOf("weather", { city: "Rome" }), "never");
  expect((await read(valid, requestWith([strict]))).calls).toEqual([[0, "weather", '{"city":"Rome"}']]);
  const invalid = callOf("weather", { town: "Rome" });
  const other = engineWriting(invalid, "never");
  expect((await read(other, requestWith([lenient]))).calls).toEqual([[0, "weather", '{"town":"Rome"}']]);
  expect([valid.requests.length, other.requests.length]).toEqual([1, 1]);
});

test("a required call of a strict tool is under its grammar from the start", async () => {
  const engine = engineWriting("never", callOf("weather", { city: "Rome" }));
  const { calls } = await read(engine, requestWith([strict], { type: "required" }));
  expect(calls).toEqual([[0, "weather", '{"city":"Rome"}']]);
  expect(engine.requests.map(({ constraint }) => constraint?.type)).toEqual(["tool-calls"]);
});

test("parallel calls keep their order and numbers, whichever of them is generated again", async () => {
  const written = [
    callOf("clock", { zone: "UTC" }),
    callOf("weather", {}),
    callOf("clock", {}),
    callOf("weather", { city: "Rome" }),
  ].join("\n");
  const engine = engineWriting(`Two things. ${written}`, callOf("weather", { city: "Bern" }));
  const { calls, events, end } = await read(engine, requestWith([strict, clock]));
  expect(calls).toEqual([
    [0, "clock", '{"zone":"UTC"}'],
    [1, "weather", '{"city":"Bern"}'],
    [2, "clock", "{}"],
    [3, "weather", '{"city":"Rome"}'],
  ]);
  const ids = events.flatMap((event) => (event.type === "tool-call-start" ? [event.id] : []));
  expect(new Set(ids).size).toBe(4);
  expect(events[0]).toMatchObject({ type: "text-delta" });
  expect(end).toMatchObject({ reason: "tool-calls" });
});

test("the first attempt is passed on if there is no second one: no grammar, no tokens, or cut again", async () => {
  const first = callOf("weather", { town: "Bern" });
  const asWritten = [[0, "weather", '{"town":"Bern"}']];
  const unsupported = { kind: "schema-unsupported", keyword: "not", location: "weather#" } as const;
  const scripts: readonly FakeEngineScript[] = [
    ({ constraint }) => (constraint === undefined ? steps(first) : [{ do: "fail", failure: unsupported }]),
    ({ constraint }) =>
      constraint === undefined
        ? steps(first)
        : [
            { do: "write", text: '<tool_call>\n{"name": "weather", "argu' },
            { do: "end", reason: "length" },
          ],
  ];
  for (const script of scripts)
    expect((await read(startEngine(script), requestWith([strict]))).calls).toEqual(asWritten);
  const engine = engineWriting(first, "never");
  const short = { ...requestWith([strict]), maxTokens: 1 };
  expect((await read(engine, short)).calls).toEqual(asWritten);
  expect(engine.requests).toHaveLength(1);
  const crashed = startEngine(({ constraint }) =>
    constraint === undefined ? steps(first) : [{ do: "fail", failure: { kind: "engine-unloaded" } }],
  );
  await expect(read(crashed, requestWith([strict]))).rejects.toMatchObject({
    failure: { kind: "engine-unloaded" },
  });
});

test("a call of a strict tool that the token limit cuts fails as every other does", async () => {
  const engine = startEngine(() => [
    { do: "write", text: '<tool_call>\n{"name": "weather", "arguments": {"city": "Be' },
    { do: "end", reason: "length" },
  ]);
  const { events, end } = await read(engine, requestWith([strict]));
  expect(events.some(({ type }) => type === "tool-call-fail")).toBe(true);
  expect(end).toMatchObject({ reason: "length" });
  expect(engine.requests).toHaveLength(1);
});
