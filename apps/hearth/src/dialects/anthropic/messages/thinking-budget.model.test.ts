import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer, tiny } from "../../../test/start-test-server.ts";
import { hello, post, readEvents } from "../test/scripts.ts";

const thoughts = Array.from({ length: 60 }, (_, index) => `thought${index} `);
const write = (texts: readonly string[]): FakeEngineStep[] => texts.map((text) => ({ do: "write", text }));

/** Thinks until it is stopped. */
const endlessThinker: FakeEngineScript = ({ input }) =>
  input.type === "conversation" && input.conversation.messages.at(-1)?.role === "assistant"
    ? [...write(["It is ", "four."]), { do: "end", reason: "stop" }]
    : [...write(["<think>", ...thoughts]), { do: "wait", milliseconds: 60_000 }];

const startThinker = (): Promise<TestServer> =>
  startTestServer({
    models: { smol },
    script: endlessThinker,
    description: { chatTemplate: "<think></think>" },
  });

const budgetOf = (tokens: number) => ({
  model: "smol",
  max_tokens: 200,
  messages: [hello],
  thinking: { type: "enabled", budget_tokens: tokens },
});

test("budget_tokens was accepted and ignored: a message has thinking up to its budget, then the text", async () => {
  await using server = await startThinker();
  const response = await post(server, "/alt/v1/messages", budgetOf(20));
  expect(response.headers.get("hearth-ignored")).toBeNull();
  expect(await response.json()).toMatchObject({
    content: [
      { type: "thinking", thinking: thoughts.slice(0, 19).join("").trimEnd() },
      { type: "text", text: "It is four." },
    ],
    stop_reason: "end_turn",
    usage: { output_tokens: 22, output_tokens_details: { thinking_tokens: 19 } },
  });
});

test("a stream has one thinking block up to the budget, then one text block", async () => {
  await using server = await startThinker();
  const response = await post(server, "/alt/v1/messages", { ...budgetOf(20), stream: true });
  const events = await readEvents(response);
  const names = events.map(({ name, content }) =>
    name === "content_block_start" ? JSON.stringify(content["content_block"]).slice(0, 18) : name,
  );
  expect(names.filter((name, index) => name !== names[index - 1])).toEqual([
    "message_start",
    "ping",
    '{"type":"thinking"',
    "content_block_delta",
    "content_block_stop",
    '{"type":"text","te',
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("a budget of no tokens → 400, and one of more than all tokens has no effect", async () => {
  await using server = await startTestServer({
    models: { smol },
    script: () => [...write(["<think>", "a", "</think>", "Four"]), { do: "end", reason: "stop" }],
    description: { chatTemplate: "<think></think>" },
  });
  for (const tokens of [0, -1, 1.5]) {
    const refused = await post(server, "/alt/v1/messages", budgetOf(tokens));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("thinking");
  }
  const large = await post(server, "/alt/v1/messages", budgetOf(100_000));
  expect(await large.json()).toMatchObject({
    content: [{ type: "thinking" }, { type: "text", text: "Four" }],
  });
});

test("a budget that a remote engine cannot apply is named as ignored, and one that it can apply is passed on", async () => {
  for (const limitsReasoning of [false, true]) {
    await using server = await startTestServer({
      models: { smol },
      script: () => [...write(["Four"]), { do: "end", reason: "stop" }],
      description: { splitsEvents: true, limitsReasoning },
    });
    for (const stream of [false, true]) {
      const response = await post(server, "/alt/v1/messages", {
        ...budgetOf(20),
        stream,
        service_tier: "auto",
      });
      const named = 'fields=("service_tier")';
      expect(response.headers.get("hearth-ignored")).toBe(
        limitsReasoning ? named : `${named}, engine=("thinking.budget_tokens")`,
      );
      await response.text();
    }
    expect(server.requests.every(({ maxReasoningTokens }) => maxReasoningTokens === 20)).toBe(true);
  }
});

test("on real weights a message has thinking of about its budget, then text, within max_tokens", async () => {
  await using server = await startTestServer({ models: { tiny } });
  const started = { role: "assistant", content: "<think>\n" };
  const response = await post(server, "/alt/v1/messages", {
    ...budgetOf(32),
    model: "tiny",
    messages: [hello, started],
  });
  // Tests fail if the shape is different.
  const { content, usage } = (await response.json()) as {
    readonly content: readonly { readonly type: string; readonly text?: string }[];
    readonly usage: {
      readonly output_tokens: number;
      readonly output_tokens_details: { readonly thinking_tokens: number };
    };
  };
  expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  expect(content[1]?.text).not.toBe("");
  expect(usage.output_tokens).toBeLessThanOrEqual(200);
  const { thinking_tokens: thinkingTokens } = usage.output_tokens_details;
  expect(thinkingTokens).toBeGreaterThanOrEqual(16);
  // Tokens of 15 ms arrive together, and these weights are fast.
  expect(thinkingTokens).toBeLessThanOrEqual(128);
});
