import type { FakeEngineScript, FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import {
  messagesOf,
  type ResponsesServer,
  startResponsesServer,
  storeOf,
} from "./test/start-responses-server.ts";

const stop: FakeEngineStep = { do: "end", reason: "stop" };
const script: FakeEngineScript = () => [{ do: "write", text: "Hello" }, stop];
const model = "tiny";

async function send(server: ResponsesServer, body: object, key = "any"): Promise<Response> {
  return fetch(`${server.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, input: "Hello", ...body }),
  });
}

type WireEvent = { readonly type: string; readonly sequence_number: number; readonly response?: object };

async function eventsOf(response: Response): Promise<readonly WireEvent[]> {
  const text = await response.text();
  return text
    .trim()
    .split("\n\n")
    .map((event): WireEvent => JSON.parse(event.slice(event.indexOf("data: ") + 6)));
}

test("a response without a limit may fill the context, and is not cut at 4096 tokens", async () => {
  await using server = await startResponsesServer({ script });
  await send(server, {});
  await send(server, { max_output_tokens: 5 });
  expect(server.requests.map(({ maxTokens }) => maxTokens)).toEqual([Number.MAX_SAFE_INTEGER, 5]);
});

const tooLong: FakeEngineScript = () => [
  { do: "fail", failure: { kind: "prompt-too-long", promptTokens: 100, contextTokens: 64 } },
];

test("Codex could not see that the context was full: a stream now fails with context_length_exceeded", async () => {
  await using server = await startResponsesServer({ script: tooLong, responses: storeOf() });
  const streamed = await send(server, { stream: true });
  expect(streamed.status).toBe(200);
  const events = await eventsOf(streamed);
  expect(events.map(({ type }) => type)).toEqual([
    "response.created",
    "response.in_progress",
    "error",
    "response.failed",
  ]);
  expect(events.map((event) => event.sequence_number)).toEqual([0, 1, 2, 3]);
  expect(events[2]).toMatchObject({ error: { code: "context_length_exceeded" } });
  expect(events[3]).toMatchObject({
    response: { status: "failed", error: { code: "context_length_exceeded" }, output: [] },
  });
  await expect.poll(() => server.logRecord["failure"]).toBe("prompt-too-long");
  const complete = await send(server, {});
  expect(complete.status).toBe(400);
  expect(await complete.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
});

test("a full queue has the code on which Codex stops instead of retrying", async () => {
  const waiting = Promise.withResolvers<void>();
  await using server = await startResponsesServer({
    script: () => {
      waiting.resolve();
      return [{ do: "wait", milliseconds: 300 }, stop];
    },
    limits: { sequences: 1, maxQueuedPerModel: 0 },
  });
  const first = send(server, {});
  await waiting.promise;
  const second = await send(server, {});
  expect(second.status).toBe(503);
  expect(second.headers.get("retry-after")).toMatch(/^\d+$/u);
  expect(await second.json()).toMatchObject({ error: { code: "server_is_overloaded" } });
  expect((await first).status).toBe(200);
});

test("a stream that fails for a moment tells Codex how long to wait", async () => {
  await using server = await startResponsesServer({
    script: () => [
      { do: "write", text: "Hel" },
      { do: "fail", failure: { kind: "engine-unloaded" } },
    ],
  });
  const events = await eventsOf(await send(server, { stream: true }));
  const failed = events.find(({ type }) => type === "response.failed");
  expect(failed).toMatchObject({
    response: {
      error: {
        code: "rate_limit_exceeded",
        message: expect.stringMatching(/try again in \d+s$/u),
      },
    },
  });
});

test("log-probabilities are included in the text and its events when requested", async () => {
  const tokens = [
    {
      token: 1,
      text: "Hi",
      logProbability: -0.5,
      alternatives: [{ token: 2, text: "Ho", logProbability: -2 }],
    },
  ];
  await using server = await startResponsesServer({
    script: () => [{ do: "emit", event: { type: "text-delta", text: "Hi", tokens } }, stop],
  });
  const { responses } = server.client();
  const include = ["message.output_text.logprobs" as const];
  const expected = [
    {
      token: "Hi",
      logprob: -0.5,
      bytes: [72, 105],
      top_logprobs: [{ token: "Ho", logprob: -2, bytes: [72, 111] }],
    },
  ];
  const complete = await responses.create({ model, input: "Hello", include, top_logprobs: 1 });
  expect(complete.output).toMatchObject([{ content: [{ logprobs: expected }] }]);
  expect(complete.top_logprobs).toBe(1);
  const events = await eventsOf(await send(server, { include, stream: true }));
  expect(events.find(({ type }) => type.endsWith("output_text.delta"))).toMatchObject({ logprobs: expected });
  expect(events.find(({ type }) => type.endsWith("output_text.done"))).toMatchObject({ logprobs: expected });
  await send(server, {});
  expect(server.requests.map(({ logProbabilities }) => logProbabilities)).toEqual([1, 0, undefined]);
});

const thinking: FakeEngineScript = () => [
  { do: "emit", event: { type: "reasoning-delta", text: "A secret thought" } },
  { do: "write", text: "Hello" },
  stop,
];

test("sealed reasoning is understood when it is sent back, by the same key only", async () => {
  await using server = await startResponsesServer({ script: thinking, keys: ["mine", "other"] });
  const include = ["reasoning.encrypted_content"];
  const first = await send(server, { include, store: false }, "mine");
  // The fields are checked below.
  const { output } = (await first.json()) as { output: [{ encrypted_content: string; summary: unknown }] };
  const sealed = output[0].encrypted_content;
  expect(sealed).toMatch(/^[\w.-]+$/u);
  expect(Buffer.from(sealed.slice(8), "base64url").toString("latin1")).not.toContain("secret");
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealed };
  const input = [{ role: "user", content: "One" }, reasoning, { role: "assistant", content: "Hello" }];
  await send(server, { input }, "mine");
  await send(server, { input }, "other");
  const thoughts = server.requests.slice(1).map((request) => messagesOf(request)[1]);
  expect(thoughts).toEqual([
    { role: "assistant", content: "Hello", reasoning: "A secret thought" },
    { role: "assistant", content: "Hello", reasoning: "" },
  ]);
});

test("without the request for it, reasoning is not sealed", async () => {
  await using server = await startResponsesServer({ script: thinking });
  const response = await send(server, {});
  expect(await response.text()).not.toContain("encrypted_content");
});
