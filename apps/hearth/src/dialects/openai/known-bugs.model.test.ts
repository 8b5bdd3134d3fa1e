import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";

const messages = [{ role: "user", content: "Say hi" }] as const;
const helloScript: FakeEngineScript = () => [
  { do: "write", text: "Hel" },
  { do: "write", text: "lo" },
  { do: "end", reason: "stop" },
];
const weather = {
  type: "function",
  function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
} as const;

function clientOf(server: TestServer): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "anything", maxRetries: 0 });
}

async function post(server: TestServer, body: object): Promise<Response> {
  const url = `${server.url}/v1/chat/completions`;
  return fetch(url, { method: "POST", body: JSON.stringify({ model: "chat", messages, ...body }) });
}

async function completionOf(server: TestServer, body: object): Promise<OpenAI.ChatCompletion> {
  // The tests check the fields of the client's own type.
  return (await (await post(server, body)).json()) as OpenAI.ChatCompletion;
}

async function lastRequest(server: TestServer, body: object) {
  expect((await post(server, body)).status).toBe(200);
  return server.requests.at(-1);
}

test("bug 1: tool_choice is respected: required and named require a call, none hides the tools", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const other = { type: "function", function: { name: "get_time" } };
  const tools = [weather, other];
  const required = await lastRequest(server, { tools, tool_choice: "required" });
  expect(required?.constraint).toMatchObject({
    type: "tool-calls",
    tools: [{ name: "get_weather" }, { name: "get_time" }],
  });
  const named = await lastRequest(server, {
    tools,
    tool_choice: { type: "function", function: { name: "get_time" } },
  });
  expect(named?.constraint).toEqual({ type: "tool-calls", tools: [{ name: "get_time" }], maxCalls: 1 });
  const none = await lastRequest(server, { tools, tool_choice: "none" });
  expect(none?.input).toMatchObject({ conversation: { tools: [] } });
  const auto = await lastRequest(server, { tools });
  expect(auto?.constraint).toBeUndefined();
  expect(auto?.input).toMatchObject({
    conversation: { tools: [{ name: "get_weather" }, { name: "get_time" }] },
  });
  const allowed = await lastRequest(server, {
    tools,
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get_time" } }] },
    },
  });
  expect(allowed?.constraint).toMatchObject({ tools: [{ name: "get_time" }] });
});

test("bug 2: max_completion_tokens limits the output and takes precedence over max_tokens", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  expect(await lastRequest(server, { max_completion_tokens: 8, max_tokens: 100 })).toMatchObject({
    maxTokens: 8,
  });
  expect(await lastRequest(server, { max_tokens: 100 })).toMatchObject({ maxTokens: 100 });
});

test("bug 3: without a limit the output ends after 4096 tokens", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  expect(await lastRequest(server, {})).toMatchObject({ maxTokens: 4096 });
});

test("bug 4: the model's temperature takes precedence over the server's, and the request's over the model's", async () => {
  const parameters = { temperature: 0.3, top_p: 0.5, num_predict: 77 };
  const tuned = { ...tiny, extras: { parameters } };
  await using server = await startTestServer({ models: { chat: tiny, tuned }, script: helloScript });
  const absent = await lastRequest(server, {});
  expect(absent?.sampling).toMatchObject({
    temperature: 0.7,
    topP: 0.9,
    topK: 40,
    repeatPenalty: 1.1,
    frequencyPenalty: 0,
    presencePenalty: 0,
  });
  const ofModel = await lastRequest(server, { model: "tuned" });
  expect(ofModel).toMatchObject({ sampling: { temperature: 0.3, topP: 0.5 }, maxTokens: 77 });
  const ofRequest = await lastRequest(server, { model: "tuned", temperature: 0, top_p: 1, max_tokens: 5 });
  expect(ofRequest).toMatchObject({ sampling: { temperature: 0, topP: 1 }, maxTokens: 5 });
});

test("bug 5: two calls in a stream have the indexes 0 and 1 and different ids", async () => {
  await using server = await startTestServer({
    models: { chat: tiny },
    description: { splitsEvents: true },
    script: () => [
      { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_a", name: "get_weather" } },
      { do: "emit", event: { type: "tool-call-delta", index: 0, argumentsText: '{"city":' } },
      { do: "emit", event: { type: "tool-call-delta", index: 0, argumentsText: '"Rome"}' } },
      { do: "emit", event: { type: "tool-call-start", index: 1, id: "call_b", name: "get_weather" } },
      { do: "end", reason: "stop" },
    ],
  });
  const stream = clientOf(server).chat.completions.stream({
    model: "chat",
    messages: [...messages],
    tools: [weather],
  });
  const [choice] = (await stream.finalChatCompletion()).choices;
  expect(choice?.finish_reason).toBe("tool_calls");
  expect(choice?.message.tool_calls).toMatchObject([
    { id: "call_a", type: "function", function: { name: "get_weather", arguments: '{"city":"Rome"}' } },
    { id: "call_b", type: "function", function: { name: "get_weather", arguments: "{}" } },
  ]);
  const complete = await completionOf(server, { tools: [weather] });
  expect(complete.choices[0]?.message).toMatchObject({
    content: null,
    tool_calls: [{ function: { arguments: '{"city":"Rome"}' } }, { function: { arguments: "{}" } }],
  });
  const single = await completionOf(server, { tools: [weather], parallel_tool_calls: false });
  expect(single.choices[0]?.message.tool_calls).toHaveLength(1);
});

test("bug 6: a tool message with parts keeps its tool_call_id and stays one message", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } };
  const content = [
    { type: "text", text: "sunny" },
    { type: "text", text: "warm" },
  ];
  const request = await lastRequest(server, {
    messages: [
      ...messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content },
    ],
  });
  expect(request?.input).toMatchObject({
    conversation: {
      messages: [
        { role: "user", content: "Say hi" },
        {
          role: "assistant",
          content: null,
          toolCalls: [{ id: "call_1", name: "get_weather", arguments: {} }],
        },
        { role: "tool", content: "sunny\nwarm", toolCallId: "call_1", toolName: "get_weather" },
      ],
    },
  });
});

test("bug 7: a tool's schema reaches the model byte for byte", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const parameters = {
    $defs: { city: { type: "string", const: "Rome" } },
    type: "object",
    properties: {
      where: { anyOf: [{ $ref: "#/$defs/city" }, { type: "null" }] },
      size: { enum: [1, 2.5, "x"] },
    },
    required: ["where"],
    "x-odd": [[{}]],
  };
  const request = await lastRequest(server, {
    tools: [{ type: "function", function: { name: "f", parameters } }],
  });
  const tools = request?.input.type === "conversation" ? request.input.conversation.tools : [];
  expect(JSON.stringify(tools?.[0]?.parameters)).toBe(JSON.stringify(parameters));
});

test("bug 8: developer messages are not dropped but become system messages", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const request = await lastRequest(server, {
    messages: [{ role: "developer", content: "Be brief" }, ...messages],
  });
  expect(request?.input).toMatchObject({
    conversation: {
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "Say hi" },
      ],
    },
  });
});

test("bug 9: reasoning is sent under both names that clients read, complete and streamed, and accepted back", async () => {
  await using server = await startTestServer({
    models: { chat: tiny },
    description: { splitsEvents: true },
    script: () => [
      { do: "emit", event: { type: "reasoning-delta", text: "hmm" } },
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const complete = await completionOf(server, {});
  expect(complete.choices[0]?.message).toMatchObject({
    content: "Hello",
    reasoning: "hmm",
    reasoning_content: "hmm",
  });
  const stream = await (await post(server, { stream: true })).text();
  expect(stream).toContain('"delta":{"reasoning":"hmm","reasoning_content":"hmm"}');
  for (const name of ["reasoning", "reasoning_content", "thinking"]) {
    const history = [...messages, { role: "assistant", content: "Hello", [name]: "hmm" }, ...messages];
    const request = await lastRequest(server, { messages: history });
    expect(request?.input).toMatchObject({ conversation: { messages: [{}, { reasoning: "hmm" }, {}] } });
  }
});

test("bug 10: the context can be set, and a longer prompt is rejected with its code, never truncated", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, limits: { contextTokens: 512 } });
  const long = { messages: [{ role: "user", content: "many words ".repeat(300) }], max_tokens: 1 };
  for (const stream of [false, true]) {
    const rejected = await post(server, { ...long, stream });
    expect(rejected.status).toBe(400);
    expect(await rejected.json()).toMatchObject({
      error: {
        code: "context_length_exceeded",
        message: expect.stringContaining("maximum context length"),
      },
    });
  }
  const wider = await post(server, { ...long, options: { num_ctx: 4096 } });
  expect(wider.status).toBe(200);
});

test("bug 11: an error mid-stream is the last event, and no end marker follows it", async () => {
  await using server = await startTestServer({
    models: { chat: tiny },
    script: () => [
      { do: "write", text: "Hel" },
      { do: "wait", milliseconds: 50 },
      { do: "crash", failure: { kind: "engine-crashed", exitCode: 1, signal: null } },
    ],
  });
  const body = await (await post(server, { stream: true })).text();
  expect(body).not.toContain("[DONE]");
  expect(body.trimEnd().split("\n\n").at(-1)).toMatch(
    /^data: \{"error":\{"message":"[^"]+","type":"server_error","param":null,"code":"engine_stopped"\}\}$/,
  );
  await expect.poll(() => server.logRecords().at(-1)).toMatchObject({ failure: "engine-crashed" });
});

test("bug 15: the second of two equal requests reports its cached tokens", async () => {
  await using server = await startTestServer({ models: { chat: smol } });
  const client = clientOf(server);
  const send = () =>
    client.chat.completions.create({ model: "chat", messages: [...messages], max_tokens: 1 });
  expect((await send()).usage?.prompt_tokens_details?.cached_tokens).toBe(0);
  expect((await send()).usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(10);
});

test("bug 26: a thousand responses have a thousand ids", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const ids = new Set<string>();
  for (let round = 0; round < 50; round += 1) {
    const responses = await Promise.all(Array.from({ length: 20 }, () => completionOf(server, {})));
    for (const { id } of responses) ids.add(id);
  }
  expect(ids.size).toBe(1000);
  expect([...ids].every((id) => /^chatcmpl-[0-9a-f]{32}$/.test(id))).toBe(true);
});

const stopsScript: FakeEngineScript = () => [
  { do: "write", text: "one END two STOP three" },
  { do: "end", reason: "stop" },
];

test("bug 28: stop sequences of the request are added to the model's own", async () => {
  const stopping = { ...tiny, extras: { parameters: { stop: ["STOP"] } } };
  await using server = await startTestServer({ models: { chat: stopping }, script: stopsScript });
  const content = async (body: object) => (await completionOf(server, body)).choices[0];
  expect(await content({ stop: "END" })).toMatchObject({
    message: { content: "one " },
    finish_reason: "stop",
  });
  expect(await content({ stop: ["never"] })).toMatchObject({ message: { content: "one END two " } });
});

const slowScript: FakeEngineScript = () => [
  { do: "write", text: "Hi" },
  { do: "wait", milliseconds: 1500 },
  { do: "end", reason: "stop" },
];

test("bug 33: a full queue returns 503 with Retry-After, and official clients retry", async () => {
  await using server = await startTestServer({
    models: { chat: tiny },
    script: slowScript,
    limits: { sequences: 1, maxQueuedPerModel: 0 },
  });
  const first = post(server, {});
  await expect.poll(() => server.requests.length).toBe(1);
  const second = await post(server, {});
  expect(second.status).toBe(503);
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await second.json()).toMatchObject({ error: { code: "overloaded", type: "server_error" } });
  const patient = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "anything", maxRetries: 5 });
  const response = await patient.chat.completions.create({ model: "chat", messages: [...messages] });
  expect(response.choices[0]?.message.content).toBe("Hi");
  expect((await first).status).toBe(200);
});

test("bug 35: keep_alive is accepted on this API, in every form", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  await lastRequest(server, { keep_alive: "-1" });
  expect(server.scheduler.running()).toMatchObject([{ expiresAt: "never" }]);
  await lastRequest(server, { keep_alive: "1h30m" });
  const [{ expiresAt } = { expiresAt: "never" }] = server.scheduler.running();
  const minutes = (new Date(expiresAt).getTime() - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(89);
  expect(minutes).toBeLessThan(91);
  await lastRequest(server, { keep_alive: 0 });
  await expect.poll(() => server.scheduler.running()).toEqual([]);
  expect((await post(server, { keep_alive: "soon" })).status).toBe(400);
});

test("bug 49: the role is sent once and first, and one chunk has the finish reason", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const text = await (await post(server, { stream: true, stream_options: { include_usage: true } })).text();
  const lines = text.trimEnd().split("\n\n");
  expect(lines.at(-1)).toBe("data: [DONE]");
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice("data: ".length)));
  expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: "assistant", content: "" },
    { content: "Hel" },
    { content: "lo" },
    {},
    undefined,
  ]);
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([
    null,
    null,
    null,
    "stop",
    undefined,
  ]);
  expect(chunks.map(({ usage }) => usage?.completion_tokens)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    2,
  ]);
  expect(new Set(chunks.map(({ id, created, object }) => `${id} ${created} ${object}`)).size).toBe(1);
  const plain = await (await post(server, { stream: true })).text();
  expect(plain).not.toContain("usage");
});

test("bug 50: a stream tells proxies and browsers not to buffer it", async () => {
  await using server = await startTestServer({ models: { chat: tiny }, script: helloScript });
  const response = await post(server, { stream: true });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  await response.text();
});
