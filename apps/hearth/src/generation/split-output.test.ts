import type { EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { reasoningFormats } from "./reasoning.ts";
import { type OutputPlan, splitOutput } from "./split-output.ts";
import { collectOutput, plainPlan, splitAt } from "./test/collect-output.ts";
import { genericFormat, toolCallFormats } from "./tool-calls/formats.ts";

const think = reasoningFormats.find(({ name }) => name === "think");
const hermes = toolCallFormats.find(({ name }) => name === "hermes") ?? genericFormat;
const tools = [{ name: "find" }];
const plan: OutputPlan = {
  ...plainPlan,
  tools,
  format: { type: "tags", reasoning: think, toolCalls: hermes },
};
const engineEnd: EngineEvent = {
  type: "generation-end",
  reason: "stop",
  usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 20 },
  timings: { promptMilliseconds: 5, outputMilliseconds: 6 },
};

test("text without tags is passed on unchanged in every format", async () => {
  const formats: readonly OutputPlan[] = [
    { ...plan, format: { type: "harmony" } },
    { ...plan, format: { type: "recipients" } },
    ...reasoningFormats.map((reasoning) => ({
      ...plan,
      format: { type: "tags", reasoning, toolCalls: hermes } as const,
    })),
    // A format that starts open reads the first line as a header; it has its own tests.
    ...[...toolCallFormats, genericFormat]
      .filter(({ startsOpen }) => startsOpen !== true)
      .map((toolCalls) => ({ ...plan, format: { type: "tags", reasoning: think, toolCalls } as const })),
  ];
  const anyText = fc.string({ unit: "grapheme", maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(anyText, fc.array(fc.nat(80), { maxLength: 4 }), async (text, offsets) => {
      const chunks = splitAt(text, clamp(text, offsets));
      for (const each of formats) expect((await collectOutput(chunks, each)).text).toBe(text);
    }),
    { numRuns: 100, seed: 1 },
  );
});

test("the parsed output does not depend on the chunk boundaries", async () => {
  const fragment = fc.constantFrom(
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    '{"name": "find", "arguments": {"a": "é"}}',
    '{"name": "find", "arg',
    "<",
    "{",
    "}",
    '"',
    " ",
    "\n",
    "é😀",
    "text",
    "STOP",
    "ST",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fragment, { maxLength: 12 }),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (fragments, offsets) => {
        const output = fragments.join("");
        const stopping = { ...plan, stops: ["STOP"] };
        for (const reason of ["stop", "length"] as const) {
          const unsplit = comparable(await collectOutput([output], stopping, reason));
          const split = comparable(
            await collectOutput(splitAt(output, clamp(output, offsets)), stopping, reason),
          );
          expect(split).toEqual(unsplit);
        }
      },
    ),
    { numRuns: 500, seed: 2 },
  );
});

test("a call inside thinking is not made, the same call in the response is", async () => {
  const call = '<tool_call>{"name": "find", "arguments": {}}</tool_call>';
  const inThinking = await collectOutput([`<think>maybe ${call}</think>No.`], plan);
  expect(inThinking.calls).toEqual([]);
  expect(inThinking.reasoning).toBe(`maybe ${call}`);
  expect((await collectOutput([`<think>yes</think>${call}`], plan)).calls).toHaveLength(1);
});

test("stop sequences apply to visible text, not to thinking or arguments", async () => {
  const output =
    '<think>a STOP b</think>text <tool_call>{"name": "find", "arguments": {"a": "STOP"}}</tool_call> end STOP x';
  const result = await collectOutput([output], { ...plan, stops: ["STOP"] });
  expect(result.reasoning).toBe("a STOP b");
  expect(result.calls[0]?.arguments).toEqual({ a: "STOP" });
  expect(result.text).toBe("text end ");
  // The reason says that there are calls to run.
  expect(result.end?.reason).toBe("tool-calls");
  const withoutCall = await collectOutput(["text STOP x"], { ...plan, stops: ["STOP"] });
  expect(withoutCall.end).toMatchObject({ reason: "stop-sequence", stopSequence: "STOP" });
});

test("usage includes thinking and is complete even after a stop sequence", async () => {
  const ended = await collect([{ type: "text-delta", text: "<think>four</think>Yes" }, engineEnd], plan);
  expect(ended.at(-1)).toMatchObject({
    reason: "stop",
    usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 20, reasoningTokens: 4 },
    timings: { promptMilliseconds: 5, outputMilliseconds: 6 },
  });
  const stopped = await collectOutput(["<think>four</think>Yes STOP"], { ...plan, stops: ["STOP"] });
  expect(stopped.end?.usage).toEqual({
    promptTokens: 7,
    cachedTokens: 3,
    outputTokens: 27,
    reasoningTokens: 4,
  });
});

test("tokens stay with the visible text in which they start, and tokens of tags are dropped", async () => {
  const words = ["<think>", "hm", "</think>", "\n\nYes", ", I", " do", ". ST", "OP"];
  const events = words.map((text): EngineEvent => ({ type: "text-delta", text, tokens: [token(text)] }));
  const visible = await collect([...events, engineEnd], { ...plan, stops: ["STOP"] });
  const deltas = visible.filter((event) => event.type === "text-delta");
  expect(deltas.map(({ text }) => text).join("")).toBe("Yes, I do. ");
  expect(deltas.flatMap(({ tokens = [] }) => tokens.map(({ text }) => text))).toEqual([", I", " do", ". ST"]);
});

test("events of a driver that parses output itself pass through, and its calls get an end event", async () => {
  const events: EngineEvent[] = [
    { type: "reasoning-delta", text: "hm" },
    { type: "tool-call-start", index: 0, id: "call_a", name: "find" },
    { type: "tool-call-delta", index: 0, argumentsText: '{"a":' },
    { type: "tool-call-delta", index: 0, argumentsText: "1}" },
    { type: "tool-call-start", index: 1, id: "call_b", name: "find" },
    { type: "tool-call-delta", index: 1, argumentsText: "{" },
    engineEnd,
  ];
  const ended = await collect(events, { ...plan, format: { type: "split" } });
  expect(ended.filter(({ type }) => type === "tool-call-end" || type === "tool-call-fail")).toEqual([
    { type: "tool-call-end", index: 0, arguments: { a: 1 } },
    { type: "tool-call-end", index: 1, arguments: {} },
  ]);
  expect(ended.at(-1)).toMatchObject({ reason: "tool-calls", usage: { reasoningTokens: 2 } });
});

const damagedCall = (reason: "stop" | "length"): EngineEvent[] => [
  { type: "tool-call-start", index: 0, id: "call_a", name: "find" },
  { type: "tool-call-delta", index: 0, argumentsText: '{"a": "x\n' },
  { type: "tool-call-delta", index: 0, argumentsText: 'y", "b": [1,' },
  { ...engineEnd, reason },
];

test("a call of such a driver is repaired at its end, but not at the token limit", async () => {
  const split: OutputPlan = { ...plan, format: { type: "split" } };
  const repaired = await collect(damagedCall("stop"), split);
  const deltas = repaired.filter((event) => event.type === "tool-call-delta");
  const text = deltas.map(({ argumentsText }) => argumentsText).join("");
  expect(text).toBe(String.raw`{"a": "x\ny", "b": [1]}`);
  expect(repaired.at(-1)).toMatchObject({ reason: "tool-calls" });
  const truncated = await collect(damagedCall("length"), split);
  expect(truncated.at(-2)).toMatchObject({ type: "tool-call-fail", reason: "unfinished" });
  expect(truncated.at(-1)).toMatchObject({ reason: "length" });
});

test("aborting the signal or leaving the loop closes the engine's stream", async () => {
  const abort = new AbortController();
  let isClosed = false;
  async function* writeForever(): AsyncGenerator<EngineEvent> {
    try {
      for (;;) yield { type: "text-delta", text: "again " };
    } finally {
      isClosed = true;
    }
  }
  const options = { signal: abort.signal, countTokens: async () => 0 };
  const events = splitOutput(writeForever(), plan, options);
  await events.next();
  abort.abort(new Error("enough"));
  await expect(events.next()).rejects.toThrow("enough");
  expect(isClosed).toBe(true);
  isClosed = false;
  for await (const event of splitOutput(writeForever(), plan, {
    ...options,
    signal: new AbortController().signal,
  })) {
    if (event.type === "text-delta") break;
  }
  expect(isClosed).toBe(true);
});

function clamp(text: string, offsets: readonly number[]): number[] {
  const { length } = new TextEncoder().encode(text);
  return offsets.map((offset) => Math.min(offset, length)).toSorted((left, right) => left - right);
}

function comparable(result: Awaited<ReturnType<typeof collectOutput>>) {
  const { text, reasoning, calls, failures, end } = result;
  const { reason, stopSequence } = end ?? {};
  return {
    text,
    reasoning,
    calls: calls.map((call) => ({ ...call, id: "" })),
    failures,
    reason,
    stopSequence,
  };
}

function token(text: string): TokenProbability {
  return { token: text.length, text, logProbability: -1, alternatives: [] };
}

async function collect(events: readonly EngineEvent[], outputPlan: OutputPlan): Promise<OutputEvent[]> {
  async function* emit(): AsyncGenerator<EngineEvent> {
    yield* events;
  }
  const options = { signal: new AbortController().signal, countTokens: async (text: string) => text.length };
  return Array.fromAsync(splitOutput(emit(), outputPlan, options));
}
