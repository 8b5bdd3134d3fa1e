import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../../test/start-test-server.ts";
import {
  baseRequest,
  call,
  fakeSteps,
  hello,
  post,
  prompt,
  readEvents,
  readMessage,
  reasoning,
  startFakeServer,
  text,
  weather,
} from "../test/scripts.ts";

const messageFor = async (server: TestServer, more: object = {}) =>
  readMessage(await post(server, "/alt/v1/messages", { ...baseRequest, ...more }));
const streamOf = async (server: TestServer, more: object = {}) =>
  readEvents(await post(server, "/alt/v1/messages", { ...baseRequest, stream: true, ...more }));
const thinking = { type: "enabled", budget_tokens: 1024 };

test("a message has its blocks in order, thinking first, and its usage excludes cached tokens", async () => {
  await using server = await startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: () => [
      ...fakeSteps([prompt(10, 4), reasoning("Hm"), text("Sure. "), text("Here")]).slice(0, -1),
      {
        do: "emit",
        event: {
          type: "generation-end",
          reason: "stop",
          usage: { promptTokens: 10, cachedTokens: 4, outputTokens: 3 },
          timings: { promptMilliseconds: 1, outputMilliseconds: 100 },
        },
      },
    ],
  });
  const message = await messageFor(server, { thinking });
  expect(message).toEqual({
    id: expect.stringMatching(/^msg_\w{32}$/u),
    type: "message",
    role: "assistant",
    model: "smol",
    content: [
      { type: "thinking", thinking: "Hm", signature: expect.stringMatching(/./u) },
      { type: "text", text: "Sure. Here" },
    ],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: 6,
      cache_creation_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      cache_read_input_tokens: 4,
      output_tokens: 3,
      output_tokens_details: { thinking_tokens: 1 },
      server_tool_use: null,
    },
  });
  expect(server.logRecords().at(-1)).toMatchObject({
    model: "smol:latest",
    promptTokens: 10,
    cachedTokens: 4,
    outputTokens: 3,
    tokensPerSecond: 30,
    stopReason: "stop",
    status: 200,
  });
});

test("a stream has every event in order, one block after another", async () => {
  await using server = await startFakeServer([
    prompt(10, 4),
    prompt(10, 4),
    reasoning("H"),
    reasoning("m"),
    text("Sure"),
    ...call(0, "weather", ['{"city":', '"Bonn"}']),
    ...call(1, "weather", ["{}"]),
  ]);
  const response = await post(server, "/alt/v1/messages", {
    ...baseRequest,
    thinking,
    tools: [weather],
    stream: true,
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const events = await readEvents(response);
  expect(events.every(({ name, content }) => name === content["type"])).toBe(true);
  expect(
    events.map(({ name, content }) =>
      typeof content["index"] === "number" ? `${name} ${content["index"]}` : name,
    ),
  ).toEqual([
    "message_start",
    "ping",
    "content_block_start 0",
    "content_block_delta 0",
    "content_block_delta 0",
    "content_block_delta 0",
    "content_block_stop 0",
    "content_block_start 1",
    "content_block_delta 1",
    "content_block_stop 1",
    "content_block_start 2",
    "content_block_delta 2",
    "content_block_delta 2",
    "content_block_stop 2",
    "content_block_start 3",
    "content_block_delta 3",
    "content_block_stop 3",
    "message_delta",
    "message_stop",
  ]);
  expect(events[0]?.content).toMatchObject({
    message: {
      content: [],
      stop_reason: null,
      usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 0 },
    },
  });
  expect(events[10]?.content["content_block"]).toEqual({
    type: "tool_use",
    id: "toolu_0",
    name: "weather",
    input: {},
  });
  expect(events.at(-2)?.content).toMatchObject({ delta: { stop_reason: "tool_use", stop_sequence: null } });
});

test("thinking block without signature crashes SDK: it starts with an empty one and gets a delta", async () => {
  await using server = await startFakeServer([prompt(3, 0), reasoning("Hm"), text("Yes")]);
  const events = await streamOf(server, { thinking });
  expect(events[2]?.content["content_block"]).toEqual({ type: "thinking", thinking: "", signature: "" });
  expect(events[4]?.content["delta"]).toMatchObject({
    type: "signature_delta",
    signature: expect.any(String),
  });
});

test("thinking is included if requested, empty if omitted, and hidden otherwise", async () => {
  await using server = await startFakeServer([prompt(3, 0), reasoning("Hm"), text("Yes")]);
  const blocksFor = async (thinkingOption: object | undefined) =>
    (await messageFor(server, thinkingOption === undefined ? {} : { thinking: thinkingOption })).content.map(
      (block) => block.thinking ?? block.text,
    );
  expect(await blocksFor(thinking)).toEqual(["Hm", "Yes"]);
  expect(await blocksFor({ type: "adaptive" })).toEqual(["Hm", "Yes"]);
  expect(await blocksFor({ ...thinking, display: "omitted" })).toEqual(["", "Yes"]);
  expect(await blocksFor({ type: "disabled" })).toEqual(["Yes"]);
  expect(await blocksFor(undefined)).toEqual(["Yes"]);
  const requested = server.requests.map(
    ({ input }) => input.type === "conversation" && input.conversation.thinking,
  );
  expect(requested).toEqual([true, undefined, true, false, false]);
});

test("thinking between_tools → 400: the model thinks only after tool results", async () => {
  await using server = await startFakeServer([prompt(3, 0), reasoning("Hm"), text("Yes")]);
  const between = { thinking: { type: "between_tools" } };
  expect((await messageFor(server, between)).content).toMatchObject([{ type: "text" }]);
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "Rain" };
  const messages = [
    hello,
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: {} }] },
    { role: "user", content: [result] },
  ];
  expect((await messageFor(server, { ...between, messages })).content).toMatchObject([
    { type: "thinking", thinking: "Hm" },
    { type: "text" },
  ]);
  expect(server.requests.map(({ input }) => input)).toMatchObject([
    { conversation: { thinking: false } },
    { conversation: { thinking: true } },
  ]);
});

test("max_tokens: 0 → 400: the prompt is evaluated, and the message has no content", async () => {
  await using server = await startFakeServer([prompt(10, 4), reasoning("Hm"), text("Yes")], "length");
  expect(await messageFor(server, { max_tokens: 0, thinking })).toMatchObject({
    content: [],
    stop_reason: "max_tokens",
    usage: { output_tokens: 0, output_tokens_details: null },
  });
  const events = await streamOf(server, { max_tokens: 0, thinking });
  expect(events.map(({ name }) => name)).toEqual(["message_start", "ping", "message_delta", "message_stop"]);
  expect(events.at(-2)?.content).toMatchObject({
    delta: { stop_reason: "max_tokens" },
    usage: { output_tokens: 0 },
  });
  expect(server.requests.map(({ maxTokens }) => maxTokens)).toEqual([1, 1]);
});

test("content null when empty: it is an empty list", async () => {
  await using server = await startFakeServer([prompt(3, 0)]);
  expect((await messageFor(server)).content).toEqual([]);
  expect((await streamOf(server)).map(({ name }) => name)).toEqual([
    "message_start",
    "ping",
    "message_delta",
    "message_stop",
  ]);
});

test("stop_sequence not reported: the field is the matched string, and null for the model's own", async () => {
  await using server = await startTestServer({
    models: { smol: { ...smol, extras: { parameters: { stop: ["MODEL"] } } } },
    script: (_request, turn) => [
      { do: "write", text: turn === 3 ? "one MODEL two" : "one END two" },
      { do: "end", reason: "stop" },
    ],
  });
  const expected = {
    content: [{ type: "text", text: "one " }],
    stop_reason: "stop_sequence",
    stop_sequence: "END",
  };
  expect(await messageFor(server, { stop_sequences: ["END"] })).toMatchObject(expected);
  expect(await messageFor(server, { stop: "END" })).toMatchObject(expected);
  expect(await messageFor(server, { stop_sequences: ["END"] })).toMatchObject({
    content: [{ type: "text", text: "one " }],
    stop_reason: "end_turn",
    stop_sequence: null,
  });
  // The output does not contain it, so it is not the stop reason.
  expect(await messageFor(server, { stop_sequences: ["LATER"] })).toMatchObject({
    stop_reason: "end_turn",
    stop_sequence: null,
  });
});

test("the token limit is max_tokens; a full context is distinguished only for clients that know the stop reason", async () => {
  await using server = await startTestServer({
    models: { smol },
    script: () => [
      { do: "write", text: "two " },
      { do: "write", text: "words" },
      { do: "end", reason: "length" },
    ],
  });
  const send = async (maxTokens: number, headers: Record<string, string>) => {
    const body = JSON.stringify({ ...baseRequest, max_tokens: maxTokens });
    const response = await fetch(`${server.url}/v1/messages`, { method: "POST", body, headers });
    return (await readMessage(response)).stop_reason;
  };
  const beta = { "anthropic-beta": "other-1,model-context-window-exceeded-2025-08-26" };
  expect(await send(2, beta)).toBe("max_tokens");
  expect(await send(32_000, {})).toBe("max_tokens");
  expect(await send(32_000, beta)).toBe("model_context_window_exceeded");
});

test("a call truncated by the limit is closed in a stream, and omitted from a complete message", async () => {
  await using server = await startFakeServer([prompt(3, 0), ...call(0, "weather", ['{"city":'])], "length");
  expect(await messageFor(server, { tools: [weather] })).toMatchObject({
    content: [],
    stop_reason: "max_tokens",
  });
  const names = (await streamOf(server, { tools: [weather] })).map(({ name }) => name);
  expect(names.slice(2)).toEqual([
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("disable_parallel_tool_use limits several calls to one", async () => {
  await using server = await startFakeServer([
    prompt(3, 0),
    ...call(0, "weather", ["{}"]),
    ...call(1, "weather", ["{}"]),
    text("and more"),
  ]);
  const choice = { type: "auto", disable_parallel_tool_use: true };
  const one = await messageFor(server, { tools: [weather], tool_choice: choice });
  expect(one).toMatchObject({ content: [{ type: "tool_use" }], stop_reason: "tool_use" });
  expect(one.content).toHaveLength(1);
  expect((await messageFor(server, { tools: [weather] })).content).toHaveLength(3);
});

test("tool_choice ignored: any and tool require a call, none hides the tools, auto requires nothing", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const clock = { ...weather, name: "clock" };
  const received = async (choice: object) => {
    await messageFor(server, { tools: [weather, clock], tool_choice: choice });
    const request = server.requests.at(-1);
    const conversation = request?.input.type === "conversation" ? request.input.conversation : undefined;
    return { shown: conversation?.tools?.map(({ name }) => name), constraint: request?.constraint };
  };
  expect(await received({ type: "auto" })).toEqual({ shown: ["weather", "clock"] });
  expect(await received({ type: "none" })).toEqual({ shown: [] });
  expect(await received({ type: "any" })).toMatchObject({
    constraint: { type: "tool-calls", maxCalls: 16 },
  });
  expect(await received({ type: "any", disable_parallel_tool_use: true })).toMatchObject({
    constraint: { maxCalls: 1 },
  });
  expect(await received({ type: "tool", name: "clock" })).toMatchObject({
    shown: ["clock"],
    constraint: { tools: [{ name: "clock" }] },
  });
});

test("tool JSON schema stripped: it reaches the engine as it was sent", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const schema = {
    type: "object",
    $defs: { level: { enum: [1, 2.5, null] } },
    properties: { level: { $ref: "#/$defs/level" }, any: { anyOf: [{ type: "string" }, { items: {} }] } },
  };
  await messageFor(server, { tools: [{ name: "f", input_schema: schema }] });
  const [request] = server.requests;
  const conversation = request?.input.type === "conversation" ? request.input.conversation : undefined;
  expect(JSON.stringify(conversation?.tools?.[0]?.parameters)).toBe(JSON.stringify(schema));
});

test("an output format reaches the engine, under its new and its old name", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("{}")]);
  const format = { type: "json_schema", schema: { type: "object" } };
  await messageFor(server, { output_config: { format, effort: "max" } });
  await messageFor(server, { output_format: format });
  const constraint = { type: "json-schema", schema: { type: "object" } };
  expect(server.requests.map((request) => request.constraint)).toEqual([constraint, constraint]);
  expect(server.requests[0]).toMatchObject({
    input: { conversation: { templateVariables: { reasoning_effort: "high" } } },
  });
});

test("each parameter: the request takes precedence over the model, the model over the server", async () => {
  const parameters = {
    temperature: 0.3,
    top_p: 0.5,
    top_k: 7,
    repeat_penalty: 1.3,
    seed: 11,
    num_predict: 5,
  };
  await using server = await startTestServer({
    models: { smol, own: { ...smol, extras: { parameters } } },
    script: () => fakeSteps([prompt(3, 0), text("ok")]),
  });
  const request = {
    temperature: 0,
    top_p: 0.1,
    top_k: 1,
    seed: 3,
    frequency_penalty: 0.5,
    stop_sequences: ["x"],
  };
  await messageFor(server);
  await messageFor(server, { model: "own" });
  await messageFor(server, { model: "own", ...request });
  const [absent, ofModel, ofRequest] = server.requests;
  expect(absent?.sampling).toMatchObject({
    temperature: 0.7,
    topP: 0.9,
    topK: 40,
    repeatPenalty: 1.1,
    frequencyPenalty: 0,
  });
  expect(ofModel?.sampling).toMatchObject({
    temperature: 0.3,
    topP: 0.5,
    topK: 7,
    repeatPenalty: 1.3,
    seed: 11,
  });
  expect(ofRequest?.sampling).toMatchObject({
    temperature: 0,
    topP: 0.1,
    topK: 1,
    seed: 3,
    repeatPenalty: 1.3,
    frequencyPenalty: 0.5,
  });
  expect(server.requests.map(({ maxTokens }) => maxTokens)).toEqual([16, 16, 16]);
});

test("32000-token max output error from Claude Code: a large max_tokens is accepted", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const response = await post(server, "/v1/messages", { ...baseRequest, max_tokens: 32_000 });
  expect(response.status).toBe(200);
});

test("unknown fields are ignored, and null means absent", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const response = await post(server, "/v1/messages?beta=true", {
    ...baseRequest,
    messages: [{ ...hello, cache_control: { type: "ephemeral" } }],
    system: null,
    tools: null,
    tool_choice: null,
    thinking: null,
    temperature: null,
    stop_sequences: null,
    metadata: { user_id: "u" },
    service_tier: "auto",
    context_management: { edits: [] },
    mcp_servers: [],
    container: null,
  });
  expect(response.status).toBe(200);
});

test("a block of an unknown type → 400: it is skipped, counted in the log, and accepted by count_tokens", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const future = { type: "hologram_2030", source: { type: "light" } };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: [future] };
  const body = {
    system: [future],
    messages: [
      { role: "user", content: [future, { type: "text", text: "Hi" }] },
      { role: "assistant", content: [future, { type: "tool_use", id: "toolu_1", name: "f", input: {} }] },
      { role: "user", content: [result] },
      { role: "system" },
    ],
    tools: [future, { name: "f", input_schema: {} }],
  };
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    expect((await post(server, path, { ...baseRequest, ...body })).status).toBe(200);
    expect(server.logRecords().at(-1)).toMatchObject({ skippedBlocks: 4, droppedTools: 1 });
  }
});

test("non-unique chat ids: a thousand messages have a thousand ids", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const ids = new Set<string>();
  for (let round = 0; round < 50; round += 1) {
    const responses = await Promise.all(Array.from({ length: 20 }, () => messageFor(server)));
    for (const { id } of responses) ids.add(id);
  }
  expect(ids.size).toBe(1000);
});
