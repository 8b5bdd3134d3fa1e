import type { EngineEvent, TokenProbability } from "@hearth-and-keep/engine";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { GenerationEvent } from "./events.ts";
import { reasoningFormats } from "./reasoning-formats.ts";
import { type AnswerPlan, splitAnswer } from "./split-answer.ts";
import { cutAt, plainPlan, readAnswer } from "./test/read-answer.ts";
import { genericFormat, toolCallFormats } from "./tool-calls/formats.ts";

const think = reasoningFormats.find(({ name }) => name === "think");
const hermes = toolCallFormats.find(({ name }) => name === "hermes") ?? genericFormat;
const tools = [{ name: "find" }];
const plan: AnswerPlan = {
  ...plainPlan,
  tools,
  format: { type: "tags", reasoning: think, toolCalls: hermes },
};
const endOfEngine: EngineEvent = {
  type: "generation-end",
  reason: "stop",
  usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 20 },
  timings: { promptMilliseconds: 5, outputMilliseconds: 6 },
};

test("for any text without tags the visible text is the text, in every format", async () => {
  const formats: readonly AnswerPlan[] = [
    { ...plan, format: { type: "harmony" } },
    ...reasoningFormats.map((reasoning) => ({
      ...plan,
      format: { type: "tags", reasoning, toolCalls: hermes } as const,
    })),
    // A format that starts open reads the first line as a heading; it has its own tests.
    ...[...toolCallFormats, genericFormat]
      .filter(({ startsOpen }) => startsOpen !== true)
      .map((toolCalls) => ({ ...plan, format: { type: "tags", reasoning: think, toolCalls } as const })),
  ];
  const anyText = fc.string({ unit: "grapheme", maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(anyText, fc.array(fc.nat(80), { maxLength: 4 }), async (text, places) => {
      const parts = cutAt(text, clamp(text, places));
      for (const each of formats) expect((await readAnswer(parts, each)).text).toBe(text);
    }),
    { numRuns: 100 },
  );
});

test("what an answer turns out to be does not depend on its cuts", async () => {
  const piece = fc.constantFrom(
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
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (pieces, places) => {
        const said = pieces.join("");
        const stopping = { ...plan, stops: ["STOP"] };
        for (const reason of ["stop", "length"] as const) {
          const whole = comparable(await readAnswer([said], stopping, reason));
          const cut = comparable(await readAnswer(cutAt(said, clamp(said, places)), stopping, reason));
          expect(cut).toEqual(whole);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("a call that is only thought about is not made, the same call in the answer is", async () => {
  const call = '<tool_call>{"name": "find", "arguments": {}}</tool_call>';
  const thought = await readAnswer([`<think>maybe ${call}</think>No.`], plan);
  expect(thought.calls).toEqual([]);
  expect(thought.reasoning).toBe(`maybe ${call}`);
  expect((await readAnswer([`<think>yes</think>${call}`], plan)).calls).toHaveLength(1);
});

test("a stop sequence acts on visible text, not on thinking and not on arguments", async () => {
  const said =
    '<think>a STOP b</think>text <tool_call>{"name": "find", "arguments": {"a": "STOP"}}</tool_call> end STOP x';
  const answer = await readAnswer([said], { ...plan, stops: ["STOP"] });
  expect(answer.reasoning).toBe("a STOP b");
  expect(answer.calls[0]?.arguments).toEqual({ a: "STOP" });
  expect(answer.text).toBe("text end ");
  expect(answer.end).toMatchObject({ reason: "stop-sequence", stopSequence: "STOP" });
});

test("usage counts thinking, and is complete also when a stop sequence ended the answer", async () => {
  const ended = await collect([{ type: "text-delta", text: "<think>four</think>Yes" }, endOfEngine], plan);
  expect(ended.at(-1)).toMatchObject({
    reason: "stop",
    usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 20, reasoningTokens: 4 },
    timings: { promptMilliseconds: 5, outputMilliseconds: 6 },
  });
  const stopped = await readAnswer(["<think>four</think>Yes STOP"], { ...plan, stops: ["STOP"] });
  expect(stopped.end?.usage).toEqual({
    promptTokens: 7,
    cachedTokens: 3,
    outputTokens: 27,
    reasoningTokens: 4,
  });
});

test("tokens stay with the visible text they begin in, and those of tags are left out", async () => {
  const words = ["<think>", "hm", "</think>", "\n\nYes", ", I", " do", ". ST", "OP"];
  const events = words.map((text): EngineEvent => ({ type: "text-delta", text, tokens: [token(text)] }));
  const shown = await collect([...events, endOfEngine], { ...plan, stops: ["STOP"] });
  const deltas = shown.filter((event) => event.type === "text-delta");
  expect(deltas.map(({ text }) => text).join("")).toBe("Yes, I do. ");
  expect(deltas.flatMap(({ tokens = [] }) => tokens.map(({ text }) => text))).toEqual([", I", " do", ". ST"]);
});

test("events of a driver that splits itself pass, and its calls are ended", async () => {
  const events: EngineEvent[] = [
    { type: "reasoning-delta", text: "hm" },
    { type: "tool-call-start", index: 0, id: "call_a", name: "find" },
    { type: "tool-call-delta", index: 0, argumentsText: '{"a":' },
    { type: "tool-call-delta", index: 0, argumentsText: "1}" },
    { type: "tool-call-start", index: 1, id: "call_b", name: "find" },
    { type: "tool-call-delta", index: 1, argumentsText: "{" },
    endOfEngine,
  ];
  const ended = await collect(events, { ...plan, format: { type: "split" } });
  expect(ended.filter(({ type }) => type === "tool-call-end" || type === "tool-call-fail")).toEqual([
    { type: "tool-call-end", index: 0, arguments: { a: 1 } },
    { type: "tool-call-fail", index: 1, reason: "malformed", text: "{" },
  ]);
  expect(ended.at(-1)).toMatchObject({ reason: "tool-calls", usage: { reasoningTokens: 2 } });
});

test("an aborted signal ends the answer, and leaving it early ends the engine's stream", async () => {
  const abort = new AbortController();
  let isClosed = false;
  async function* say(): AsyncGenerator<EngineEvent> {
    try {
      for (;;) yield { type: "text-delta", text: "again " };
    } finally {
      isClosed = true;
    }
  }
  const parts = { signal: abort.signal, countTokens: async () => 0 };
  const answer = splitAnswer(say(), plan, parts);
  await answer.next();
  abort.abort(new Error("enough"));
  await expect(answer.next()).rejects.toThrow("enough");
  expect(isClosed).toBe(true);
  isClosed = false;
  for await (const event of splitAnswer(say(), plan, { ...parts, signal: new AbortController().signal })) {
    if (event.type === "text-delta") break;
  }
  expect(isClosed).toBe(true);
});

function clamp(text: string, places: readonly number[]): number[] {
  const { length } = new TextEncoder().encode(text);
  return places.map((place) => Math.min(place, length)).toSorted((left, right) => left - right);
}

function comparable(answer: Awaited<ReturnType<typeof readAnswer>>) {
  const { text, reasoning, calls, failures, end } = answer;
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

async function collect(events: readonly EngineEvent[], answerPlan: AnswerPlan): Promise<GenerationEvent[]> {
  async function* say(): AsyncGenerator<EngineEvent> {
    yield* events;
  }
  const parts = { signal: new AbortController().signal, countTokens: async (text: string) => text.length };
  return Array.fromAsync(splitAnswer(say(), answerPlan, parts));
}
