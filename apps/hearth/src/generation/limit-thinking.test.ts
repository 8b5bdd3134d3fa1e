import type { EngineEvent, Tool } from "@hearth-and-keep/engine";
import {
  createFakeEngine,
  type FakeEngine,
  type FakeEngineScript,
  type FakeEngineStep,
} from "@hearth-and-keep/engine/testing";
import { describe, expect, test } from "vitest";
import type { OutputEvent } from "./events.ts";
import { generate } from "./generate.ts";
import type { ResolvedRequest } from "./request.ts";
import { resolveSampling } from "./sampling.ts";

const never = new AbortController().signal;
const clock: Tool = { name: "clock", parameters: { type: "object", additionalProperties: false } };
const question = { role: "user", content: "2 + 2?" } as const;
const progress: EngineEvent = { type: "prompt-progress", evaluated: 9, total: 9, cached: 3 };

function limited(tokens: number, changes: Partial<ResolvedRequest> = {}): ResolvedRequest {
  return {
    ...resolveSampling({ maxTokens: 100 }, {}),
    input: { type: "conversation", conversation: { messages: [question], thinking: true } },
    toolChoice: { type: "auto" },
    cachePartition: "",
    reasoningLimit: { tokens, field: "budget" },
    ...changes,
  };
}

const write = (texts: readonly string[]): FakeEngineStep[] => texts.map((text) => ({ do: "write", text }));
const thoughts = Array.from({ length: 50 }, (_, index) => `thought${index} `);

/** Thinks until it is stopped, and then writes the response. */
const endlessThinker =
  (opening: readonly string[], response: readonly string[]): FakeEngineScript =>
  (_request, turn) =>
    turn === 1
      ? [
          { do: "emit", event: progress },
          ...write([...opening, ...thoughts]),
          { do: "wait", milliseconds: 60_000 },
        ]
      : [{ do: "emit", event: progress }, ...write(response), { do: "end", reason: "stop" }];

const thinkTags = "<think></think><tool_call>";
const startEngine = (script: FakeEngineScript, chatTemplate = thinkTags): FakeEngine =>
  createFakeEngine(script, { chatTemplate, templateCapabilities: { tools: true, thinking: true } });

type Outcome = {
  readonly thinking: string;
  readonly text: string;
  readonly types: readonly string[];
  readonly end: OutputEvent | undefined;
};

async function read(engine: FakeEngine, request: ResolvedRequest): Promise<Outcome> {
  const events = await Array.fromAsync(generate(engine, request, never));
  const join = (type: "reasoning-delta" | "text-delta"): string =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const types = events.map(({ type }) => type);
  return {
    thinking: join("reasoning-delta"),
    text: join("text-delta"),
    types: types.filter((type, index) => type !== types[index - 1]),
    end: events.at(-1),
  };
}

/** What the second run goes on with. */
function continuation(engine: FakeEngine): string {
  const input = engine.requests[1]?.input;
  const last = input?.type === "conversation" ? input.conversation.messages.at(-1) : undefined;
  return last?.role === "assistant" ? (last.content ?? "") : "";
}

test("a thinking budget had no effect: thinking ends at it, and the response follows in the same output", async () => {
  const engine = startEngine(endlessThinker(["<think>"], ["Four", "."]));
  const { thinking, text, types, end } = await read(engine, limited(10));
  expect(thinking).toBe(thoughts.slice(0, 9).join("").trimEnd());
  expect(text).toBe("Four.");
  expect(types).toEqual(["prompt-progress", "reasoning-delta", "text-delta", "generation-end"]);
  expect(end).toMatchObject({
    reason: "stop",
    usage: { promptTokens: 9, cachedTokens: 3, outputTokens: 12, reasoningTokens: 9 },
  });
  expect(engine.requests.map(({ maxTokens }) => maxTokens)).toEqual([100, 90]);
  expect(continuation(engine)).toMatch(/^<think>thought0 .*thought8\n\n.*\n<\/think>\n\n$/su);
  expect(engine.activeRequests()).toBe(0);
});

test("thinking that ends before its limit is one run, however long the response is", async () => {
  const response = Array.from({ length: 30 }, (_, index) => `word${index} `);
  const engine = startEngine(() => [
    ...write(["<think>", "a ", "b", "</think>", ...response]),
    { do: "end", reason: "stop" },
  ]);
  for (const tokens of [4, 5, 12, 34]) {
    const { thinking, text, end } = await read(engine, limited(tokens));
    expect([thinking, text]).toEqual(["a b", response.join("")]);
    expect(end).toMatchObject({ usage: { outputTokens: 34 } });
  }
  expect(engine.requests).toHaveLength(4);
});

test("a response without thinking is not cut at the limit", async () => {
  const engine = startEngine(() => [...write(thoughts), { do: "end", reason: "stop" }]);
  const { thinking, text } = await read(engine, limited(5));
  expect([thinking, text]).toEqual(["", thoughts.join("")]);
  expect(engine.requests).toHaveLength(1);
});

test("an opening tag of several tokens counts as thinking, even if the limit is within it", async () => {
  const engine = startEngine(endlessThinker(["<", "thi", "nk", ">"], ["Four"]));
  const { thinking, text } = await read(engine, limited(2));
  expect([thinking, text]).toEqual(["", "Four"]);
  expect(continuation(engine)).toMatch(/^<think>\n\n.*<\/think>\n\n$/su);
});

test("a call right after thinking is not cut, although nothing of it is visible yet", async () => {
  const call = ["<tool_call>", '{"name": ', '"clock", ', '"arguments": {}}', "</tool_call>"];
  const engine = startEngine(() => [
    ...write(["<think>", "a", "</think>", ...call]),
    { do: "end", reason: "stop" },
  ]);
  const input = {
    type: "conversation",
    conversation: { messages: [question], tools: [clock], thinking: true },
  } as const;
  for (const tokens of [3, 4, 5, 6]) {
    const { types, end } = await read(engine, limited(tokens, { input }));
    expect(types).toContain("tool-call-end");
    expect(end).toMatchObject({ reason: "tool-calls" });
  }
  expect(engine.requests).toHaveLength(4);
});

test("the limit on all tokens applies to thinking and response together", async () => {
  const thinker = startEngine(({ maxTokens }, turn) => [
    ...write((turn === 1 ? ["<think>", ...thoughts] : thoughts).slice(0, maxTokens)),
    { do: "end", reason: "length" },
  ]);
  const { text, end } = await read(thinker, limited(10, { maxTokens: 16 }));
  expect(text).toBe(thoughts.slice(0, 6).join(""));
  expect(end).toMatchObject({ reason: "length", usage: { outputTokens: 16, reasoningTokens: 9 } });
  for (const tokens of [16, 17, 1000]) {
    const engine = startEngine(({ maxTokens }) => [
      ...write(["<think>", ...thoughts].slice(0, maxTokens)),
      { do: "end", reason: "length" },
    ]);
    const outcome = await read(engine, limited(tokens, { maxTokens: 16 }));
    expect(outcome).toMatchObject({ text: "", end: { reason: "length", usage: { outputTokens: 16 } } });
    expect(engine.requests).toHaveLength(1);
  }
});

test("a context without room for a response ends the output, and is no error", async () => {
  const tooLong = { kind: "prompt-too-long", promptTokens: 30, contextTokens: 30 } as const;
  const engine = startEngine((_request, turn) =>
    turn === 1 ? write(["<think>", ...thoughts]) : [{ do: "fail", failure: tooLong }],
  );
  const { text, end } = await read(engine, limited(10));
  expect(text).toBe("");
  expect(end).toMatchObject({ reason: "length", usage: { outputTokens: 10 } });
  const broken = startEngine((_request, turn) =>
    turn === 1 ? write(["<think>", ...thoughts]) : [{ do: "fail", failure: { kind: "engine-unloaded" } }],
  );
  await expect(read(broken, limited(10))).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
});

test("the second run sees the same images, and goes on after text that the client has started the turn with", async () => {
  const image = { bytes: Uint8Array.of(1), mediaType: "image/png" };
  const seen = { ...question, images: [image] };
  // The fake engine's prompt ends with the last message, so that it opens the thinking.
  const started = { role: "assistant", content: "<think>" } as const;
  const conversation = { messages: [seen, started], thinking: true };
  const engine = startEngine(endlessThinker([], ["Four"]));
  const input = { type: "conversation", conversation } as const;
  const { thinking, text } = await read(engine, limited(3, { input }));
  expect([thinking, text]).toEqual(["thought0 thought1 thought2", "Four"]);
  const second = engine.requests[1]?.input;
  expect(second).toMatchObject({ conversation: { messages: [seen, { role: "assistant" }] } });
  expect(continuation(engine)).toMatch(/^<think>thought0 /u);
});

test("with a response format, limited thinking is in the prompt of the response", async () => {
  const engine = startEngine(({ constraint }, turn) => {
    if (constraint !== undefined) return [...write(['{"sum": 4}']), { do: "end", reason: "stop" }];
    return turn === 1 ? write(["<think>", ...thoughts]) : [...write(["Sure"]), { do: "end", reason: "stop" }];
  });
  const { thinking, text, end } = await read(engine, limited(4, { constraint: { type: "json" } }));
  expect([thinking, text]).toEqual(["thought0 thought1 thought2", '{"sum": 4}']);
  expect(end).toMatchObject({ usage: { outputTokens: 4, reasoningTokens: 3 } });
  expect(engine.requests.at(-1)?.input).toMatchObject({
    type: "raw",
    prompt: expect.stringContaining("thought2\n</think>"),
  });
});

const harmonyTemplate = "<|channel|><|message|><|call|>";
const recipientTemplate = '<atem:invoke name=""><|message|>';

describe("formats whose messages have headers", () => {
  test.for([
    [
      "harmony without tools",
      harmonyTemplate,
      ["<|channel|>", "analysis", "<|message|>"],
      [],
      "<|end|><|start|>assistant<|channel|>final<|message|>",
      ["Four", "<|return|>"],
    ],
    [
      "harmony with tools",
      harmonyTemplate,
      ["<|channel|>", "analysis", "<|message|>"],
      [clock],
      "<|end|><|start|>assistant<|channel|>commentary",
      ["<|message|>", "Four", "<|end|>"],
    ],
    [
      "recipients without tools",
      recipientTemplate,
      [" to=", "self", "<|message|>"],
      [],
      "<|eom|><|start|>assistant to=user<|message|>",
      ["Four", "<|eot|>"],
    ],
    [
      "recipients with tools",
      recipientTemplate,
      [" to=", "self", "<|message|>"],
      [clock],
      "<|eom|><|start|>assistant",
      [" to=user<|message|>", "Four", "<|eot|>"],
    ],
  ] as const)(
    "thinking ends at its limit in %s",
    async ([_name, template, opening, tools, closing, response]) => {
      const engine = startEngine(endlessThinker(opening, response), template);
      const conversation = { messages: [question], tools, thinking: true };
      const { thinking, text } = await read(
        engine,
        limited(6, { input: { type: "conversation", conversation } }),
      );
      expect(thinking.trimEnd()).toBe("thought0 thought1 thought2");
      expect(text).toBe("Four");
      expect(continuation(engine).endsWith(closing)).toBe(true);
    },
  );

  test("a call can follow thinking that was ended", async () => {
    const call = [" to=functions.clock", " <|constrain|>json<|message|>", "{}", "<|call|>"];
    const engine = startEngine(
      endlessThinker(["<|channel|>", "analysis", "<|message|>"], call),
      harmonyTemplate,
    );
    const conversation = { messages: [question], tools: [clock], thinking: true };
    const { types, end } = await read(engine, limited(6, { input: { type: "conversation", conversation } }));
    expect(types).toContain("tool-call-end");
    expect(end).toMatchObject({ reason: "tool-calls" });
  });
});

test("an engine that limits thinking itself receives the limit, and its output is not cut", async () => {
  const engine = createFakeEngine(
    () => [
      { do: "emit", event: { type: "reasoning-delta", text: "a b c d" } },
      { do: "end", reason: "stop" },
    ],
    { splitsEvents: true, limitsReasoning: true },
  );
  const { thinking } = await read(engine, limited(2));
  expect(thinking).toBe("a b c d");
  expect(engine.requests).toMatchObject([{ maxReasoningTokens: 2 }]);
});
