import Anthropic, { APIUserAbortError } from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import {
  baseRequest,
  call,
  fakeSteps,
  hello,
  prompt,
  reasoning,
  startFakeServer,
  text,
  weather,
} from "./test/scripts.ts";

const connect = (server: TestServer, path = "/alt") =>
  new Anthropic({ baseURL: `${server.url}${path}`, apiKey: "any", maxRetries: 0 });
const greedy = { ...baseRequest, temperature: 0 };
const inAll = ({ input_tokens: input, cache_read_input_tokens: cached }: Anthropic.Usage) =>
  input + (cached ?? 0);
const thinking = { type: "enabled", budget_tokens: 1024 } as const;

test("the official client works with real weights, at both base URLs and with both kinds of key", async () => {
  await using server = await startTestServer({ models: { smol } });
  for (const path of ["/alt", ""]) {
    for (const key of [{ apiKey: "any" }, { authToken: "any", apiKey: null }]) {
      const client = new Anthropic({ baseURL: `${server.url}${path}`, ...key, maxRetries: 0 });
      const message = await client.messages.create({ ...greedy, max_tokens: 4 });
      expect(message.content).toEqual([{ type: "text", text: expect.stringMatching(/./u) }]);
      expect(message.stop_reason).toBe("max_tokens");
      expect(message.usage.output_tokens).toBe(4);
      expect(message).toHaveProperty("_request_id", expect.stringMatching(/^req_/u));
    }
  }
});

test("count_tokens 404: it equals the later usage, with system, tools, prefill and thinking", async () => {
  await using server = await startTestServer({ models: { smol, tiny } });
  const client = connect(server);
  const requests: Omit<Anthropic.MessageCreateParamsNonStreaming, "model" | "max_tokens">[] = [
    { messages: [hello] },
    { messages: [hello], system: "Be brief" },
    { messages: [hello], tools: [weather] },
    { messages: [hello], tools: [weather], tool_choice: { type: "none" } },
    { messages: [hello, { role: "assistant", content: "Well," }] },
    { messages: [hello], thinking },
  ];
  for (const model of ["smol", "tiny"]) {
    const counts: number[] = [];
    for (const request of requests) {
      const { input_tokens: counted } = await client.messages.countTokens({ model, ...request });
      const { usage } = await client.messages.create({ model, max_tokens: 1, ...request });
      expect({ model, request, counted }).toEqual({ model, request, counted: inAll(usage) });
      counts.push(counted);
    }
    expect(counts[2]).toBeGreaterThan(counts[3] ?? 0);
  }
});

test("cached tokens missing in usage: the second identical request reports them", async () => {
  await using server = await startTestServer({ models: { smol } });
  const client = connect(server);
  const long = { ...greedy, max_tokens: 1, system: "Answer in one word. ".repeat(20) };
  const first = await client.messages.create(long);
  const second = await client.messages.create(long);
  expect(first.usage.cache_read_input_tokens).toBe(0);
  expect(second.usage.cache_read_input_tokens).toBeGreaterThan(0.9 * inAll(second.usage));
  expect(inAll(second.usage)).toBe(inAll(first.usage));
});

test("changing billing header in Claude Code system breaks cache: the second turn hits the cache", async () => {
  await using server = await startTestServer({ models: { smol } });
  const client = connect(server);
  const turn = (value: string, messages: Anthropic.MessageParam[]) =>
    client.messages.create({
      ...greedy,
      max_tokens: 2,
      system: [
        { type: "text", text: `x-anthropic-billing-header: cc_version=2.1.9; cch=${value};` },
        { type: "text", text: "You are a helper who writes code. ".repeat(20) },
      ],
      messages,
    });
  const first = await turn("a1b2c", [hello]);
  const history: Anthropic.MessageParam[] = [hello, { role: "assistant", content: first.content }, hello];
  const { usage } = await turn("ffff0", history);
  expect(usage.cache_read_input_tokens).toBeGreaterThan(0.9 * inAll(first.usage));
});

test("a stream of real weights equals the complete message, with exact prompt tokens at the start", async () => {
  await using server = await startTestServer({ models: { smol } });
  const client = connect(server);
  const whole = await client.messages.create(greedy);
  const stream = client.messages.stream(greedy);
  const deltas: string[] = [];
  let atStart: Anthropic.Usage | undefined;
  stream.on("text", (delta) => deltas.push(delta));
  stream.on("streamEvent", (event) => {
    if (event.type === "message_start") atStart = event.message.usage;
  });
  const message = await stream.finalMessage();
  expect(message.content).toEqual(whole.content);
  expect(deltas.join("")).toBe(await stream.finalText());
  expect(deltas.length).toBeGreaterThan(1);
  expect(atStart === undefined ? 0 : inAll(atStart)).toBe(inAll(whole.usage));
  expect(message.usage.output_tokens).toBe(whole.usage.output_tokens);
});

test("a trailing assistant message is continued, and stop sequences apply, on real weights", async () => {
  await using server = await startTestServer({ models: { smol } });
  const client = connect(server);
  const messages: Anthropic.MessageParam[] = [
    { role: "user", content: "Count from one to six in digits, separated by commas." },
    { role: "assistant", content: "1, 2, 3," },
  ];
  const begun = await client.messages.create({ ...greedy, messages, stop_sequences: ["5"] });
  expect(begun.content).toEqual([{ type: "text", text: expect.stringMatching(/^ ?4/u) }]);
  expect([begun.stop_reason, begun.stop_sequence]).toEqual(["stop_sequence", "5"]);
});

test("a required tool call and a required format are followed by real weights, on a template without tools", async () => {
  await using server = await startTestServer({ models: { smol } });
  const client = connect(server);
  const clock = {
    name: "now",
    input_schema: { type: "object" as const, properties: {}, additionalProperties: false },
  };
  const called = await client.messages.create({
    ...greedy,
    max_tokens: 40,
    tools: [clock],
    tool_choice: { type: "any", disable_parallel_tool_use: true },
  });
  expect(called.content).toEqual([
    { type: "tool_use", id: expect.stringMatching(/^toolu_/u), name: "now", input: {} },
  ]);
  expect(called.stop_reason).toBe("tool_use");
  const schema = {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  };
  const formatted = await client.messages.create({
    ...greedy,
    output_config: { format: { type: "json_schema", schema } },
  });
  const [block] = formatted.content;
  expect(JSON.parse(block?.type === "text" ? block.text : "")).toEqual({ ok: expect.any(Boolean) });
});

test("the stream helper emits thinking, text and the arguments of calls", async () => {
  await using server = await startFakeServer([
    prompt(9, 0),
    reasoning("Hm"),
    text("Let me look"),
    ...call(0, "weather", ['{"city":', '"Bonn"}']),
  ]);
  const emitted: string[] = [];
  const stream = connect(server).messages.stream({
    ...baseRequest,
    max_tokens: 2048,
    tools: [weather],
    thinking,
  });
  stream.on("thinking", (delta) => emitted.push(`thinking ${delta}`));
  stream.on("text", (delta) => emitted.push(`text ${delta}`));
  stream.on("inputJson", (delta) => emitted.push(`json ${delta}`));
  const message = await stream.finalMessage();
  expect(emitted).toEqual(["thinking Hm", "text Let me look", 'json {"city":', 'json "Bonn"}']);
  expect(message.content.at(-1)).toMatchObject({ type: "tool_use", input: { city: "Bonn" } });
  expect(message.stop_reason).toBe("tool_use");
});

test("a tool loop: the result reaches the engine with the id and name of its call, and thinking blocks too", async () => {
  await using server = await startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: (_request, turn) =>
      turn === 1
        ? fakeSteps([prompt(9, 0), reasoning("Look it up"), ...call(0, "weather", ['{"city":"Bonn"}'])])
        : fakeSteps([prompt(20, 9), text("Rain")]),
  });
  const client = connect(server);
  const request = { ...baseRequest, max_tokens: 2048, tools: [weather], thinking };
  const first = await client.messages.create(request);
  const toolUse = first.content.find((block) => block.type === "tool_use");
  const id = toolUse?.id ?? "";
  const last = await client.messages.create({
    ...request,
    messages: [
      hello,
      { role: "assistant", content: first.content },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "wet" }] }],
      },
    ],
  });
  expect(last.content).toEqual([{ type: "text", text: "Rain" }]);
  expect(server.requests[1]?.input).toMatchObject({
    conversation: {
      messages: [
        hello,
        {
          role: "assistant",
          content: null,
          reasoning: "Look it up",
          toolCalls: [{ id, name: "weather", arguments: { city: "Bonn" } }],
        },
        { role: "tool", content: "wet", toolCallId: id, toolName: "weather" },
      ],
    },
  });
});

test("the client's own tool runner gets a response", async () => {
  await using server = await startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: (_request, turn) =>
      fakeSteps(
        turn === 1
          ? [prompt(9, 0), ...call(0, "weather", ['{"city":"Bonn"}'])]
          : [prompt(20, 9), text("Rain")],
      ),
  });
  const cities: unknown[] = [];
  const response = await connect(server).beta.messages.toolRunner({
    ...baseRequest,
    tools: [
      {
        ...weather,
        run: (input: unknown) => {
          cities.push(input);
          return "wet";
        },
        parse: (input: unknown) => input,
      },
    ],
  });
  expect(cities).toEqual([{ city: "Bonn" }]);
  expect(response.content).toEqual([{ type: "text", text: "Rain" }]);
});

test("eight concurrent streams with thinking give eight complete messages", async () => {
  await using server = await startFakeServer([prompt(9, 0), reasoning("Hm"), text("Yes")]);
  const client = connect(server);
  const request = { ...baseRequest, max_tokens: 2048, thinking };
  const messages = await Promise.all(
    Array.from({ length: 8 }, () => client.messages.stream(request).finalMessage()),
  );
  for (const { content } of messages) {
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  }
});

test("a client that aborts frees its slot", async () => {
  await using server = await startTestServer({
    models: { smol },
    limits: { sequences: 1 },
    script: (_request, turn) =>
      turn === 1
        ? [
            { do: "write", text: "a" },
            { do: "wait", milliseconds: 60_000 },
          ]
        : fakeSteps([prompt(3, 0), text("next")]),
  });
  const client = connect(server);
  const stream = client.messages.stream(baseRequest);
  stream.on("text", () => stream.abort());
  await expect(stream.done()).rejects.toThrow(APIUserAbortError);
  const next = await client.messages.create(baseRequest);
  expect(next.content).toEqual([{ type: "text", text: "next" }]);
});
