import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    models: { chat: tiny },
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const messages = [{ role: "user", content: "Say hi" }];

async function post(body: object, path = "chat/completions"): Promise<Response> {
  const text = JSON.stringify({ model: "chat", messages, ...body });
  return fetch(`${server.url}/v1/${path}`, { method: "POST", body: text });
}

async function received(body: object, path?: string) {
  const response = await post(body, path);
  expect(await response.text()).toContain("Hello");
  return server.requests.at(-1);
}

async function rejectedField(body: object): Promise<unknown> {
  const before = server.requests.length;
  const response = await post(body);
  const { error } = JSON.parse(await response.text());
  expect(error).toMatchObject({ type: "invalid_request_error", message: expect.stringMatching(/[^.]$/) });
  expect(response.status).toBe(400);
  expect(server.requests).toHaveLength(before);
  return error.param;
}

test.for([
  ["temperature", 1.5, { sampling: { temperature: 1.5 } }],
  ["top_p", 0.2, { sampling: { topP: 0.2 } }],
  ["top_k", 7, { sampling: { topK: 7 } }],
  ["min_p", 0.1, { sampling: { minP: 0.1 } }],
  ["typical_p", 0.6, { sampling: { typicalP: 0.6 } }],
  ["repeat_penalty", 1.3, { sampling: { repeatPenalty: 1.3, frequencyPenalty: 0 } }],
  ["repeat_last_n", 12, { sampling: { repeatLastTokens: 12 } }],
  ["frequency_penalty", 1.1, { sampling: { frequencyPenalty: 1.1, repeatPenalty: 1.1 } }],
  ["presence_penalty", -0.5, { sampling: { presencePenalty: -0.5 } }],
  ["seed", 42, { sampling: { seed: 42 } }],
  ["max_tokens", 9, { maxTokens: 9 }],
  ["logit_bias", { 12: -100 }, { sampling: { logitBias: new Map([[12, -100]]) } }],
] as const)(
  "the engine receives %s as sent, in completions and chat completions",
  async ([name, value, seen]) => {
    expect(await received({ [name]: value })).toMatchObject(seen);
    expect(await received({ prompt: "Hi", [name]: value }, "completions")).toMatchObject(seen);
  },
);

test("options apply to fields missing at the top level, and null means absent", async () => {
  const options = { temperature: 0.1, num_predict: 3, seed: 5 };
  expect(await received({ options })).toMatchObject({
    sampling: { temperature: 0.1, seed: 5 },
    maxTokens: 3,
  });
  const both = await received({ options, temperature: 0.2, max_tokens: 4 });
  expect(both).toMatchObject({ sampling: { temperature: 0.2, seed: 5 }, maxTokens: 4 });
  const nothing = {
    temperature: null,
    max_tokens: null,
    stop: null,
    tools: null,
    response_format: null,
    n: null,
  };
  expect(await received(nothing)).toMatchObject({ sampling: { temperature: 0.7 }, maxTokens: 4096 });
});

const constraintOf = async (response_format: object) => (await received({ response_format }))?.constraint;

test("each of several choices has its own seed, so that they differ and are reproducible", async () => {
  await received({ n: 3, seed: 42 });
  expect(server.requests.slice(-3).map(({ sampling }) => sampling.seed)).toEqual([42, 43, 44]);
});

test("the largest seed is accepted with several choices, and each choice has its own", async () => {
  await received({ n: 3, seed: Number.MAX_SAFE_INTEGER });
  const seeds = server.requests.slice(-3).map(({ sampling }) => sampling.seed);
  expect(new Set(seeds).size).toBe(3);
});

test("a response format becomes a constraint: JSON, a schema, or none for text", async () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  expect(await constraintOf({ type: "json_object" })).toEqual({ type: "json" });
  expect(
    await constraintOf({ type: "json_schema", json_schema: { name: "x", schema, strict: true } }),
  ).toEqual({ type: "json-schema", schema, isStrict: true });
  expect(await constraintOf({ type: "json_schema", json_schema: { name: "x", schema } })).toEqual({
    type: "json-schema",
    schema,
  });
  expect(await constraintOf({ type: "text" })).toBeUndefined();
});

const conversationOf = async (body: object) => {
  const input = (await received(body))?.input;
  return input?.type === "conversation" ? input.conversation : undefined;
};

test("an effort tells the template whether and how much to think, and template variables are passed on", async () => {
  expect(await conversationOf({ reasoning_effort: "none" })).toMatchObject({ thinking: false });
  expect(await conversationOf({ reasoning_effort: "minimal" })).toMatchObject({
    thinking: true,
    templateVariables: { reasoning_effort: "low" },
  });
  expect(await conversationOf({ reasoning: { effort: "max" } })).toMatchObject({
    thinking: true,
    templateVariables: { reasoning_effort: "high" },
  });
  expect(await conversationOf({ think: false })).toMatchObject({ thinking: false });
  expect(
    await conversationOf({ chat_template_kwargs: { enable_thinking: false, tone: "dry" } }),
  ).toMatchObject({
    thinking: false,
    templateVariables: { tone: "dry" },
  });
  expect(await conversationOf({})).not.toHaveProperty("thinking");
});

test("unknown fields, and those without effect here, are ignored", async () => {
  const extra = {
    user: "u",
    metadata: { a: "b" },
    store: true,
    service_tier: "auto",
    modalities: ["text"],
    odd: [1],
  };
  expect(await received(extra)).toBeDefined();
});

test.for([
  ["messages", { messages: [] }],
  ["messages.0.role", { messages: [{ role: "robot", content: "x" }] }],
  ["messages.0.content.0.type", { messages: [{ role: "user", content: [{ type: "hologram" }] }] }],
  ["temperature", { temperature: -1 }],
  ["frequency_penalty", { frequency_penalty: 3 }],
  ["top_logprobs", { top_logprobs: 21 }],
  ["max_tokens", { max_tokens: 0 }],
  ["logit_bias", { logit_bias: { hello: 1 } }],
  ["n", { n: 0 }],
  ["tool_choice", { tool_choice: "required" }],
  ["tool_choice", { tool_choice: { type: "function", function: { name: "f" } } }],
  ["tools.0", { tools: [{ type: "web_search" }] }],
  ["reasoning_effort", { reasoning_effort: "huge" }],
  ["modalities", { modalities: ["text", "audio"] }],
  ["web_search_options", { web_search_options: {} }],
  ["functions", { functions: [{ name: "f" }] }],
] as const)("an invalid %s is rejected by name, before it reaches the engine", async ([field, body]) => {
  expect(await rejectedField(body)).toBe(field);
  expect(await received({})).toBeDefined();
});

const argumentsOf = async (written: unknown) => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: written } };
  const history = [...messages, { role: "assistant", content: null, tool_calls: [call] }];
  return (await received({ messages: history }))?.input;
};

const shownArguments = (seen: object) => ({
  conversation: { messages: [{}, { toolCalls: [{ arguments: seen }] }] },
});

test("arguments that are not a JSON object are accepted: the model sees what it wrote", async () => {
  expect(await argumentsOf('{"a":1}')).toMatchObject(shownArguments({ a: 1 }));
  expect(await argumentsOf({ a: 1 })).toMatchObject(shownArguments({ a: 1 }));
  expect(await argumentsOf('{"a":')).toMatchObject(shownArguments({ malformed: '{"a":' }));
});

test("the log contains every statistic of a response, and none of its text", async () => {
  await received({ messages: [{ role: "user", content: "canary-in-the-prompt" }] });
  await expect
    .poll(() => server.logRecords().at(-1))
    .toMatchObject({
      model: "chat:latest",
      promptTokens: 1,
      outputTokens: 1,
      cachedTokens: 0,
      stopReason: "stop",
      queueMilliseconds: expect.any(Number),
      loadMilliseconds: expect.any(Number),
      firstTokenMilliseconds: expect.any(Number),
      tokensPerSecond: expect.any(Number),
    });
  expect(JSON.stringify(server.logRecords())).not.toMatch(/canary|Hello/);
});

test("an incomplete call is text, and complete calls are numbered without gaps", async () => {
  const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  await using other = await startTestServer({
    models: { chat: tiny },
    script: () => [
      { do: "write", text: "<tool_call>\nnot a call\n</tool_call>" },
      { do: "write", text: '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>' },
      { do: "end", reason: "stop" },
    ],
  });
  const send = async (stream: boolean) => {
    const body = JSON.stringify({ model: "chat", messages, tools: [tool], stream });
    return (await fetch(`${other.url}/v1/chat/completions`, { method: "POST", body })).text();
  };
  const [choice] = JSON.parse(await send(false)).choices;
  expect(choice.message.content).toContain("not a call");
  expect(choice.message.tool_calls).toMatchObject([{ function: { name: "f", arguments: '{"a": 1}' } }]);
  const chunks = (await send(true)).split("\n\n").filter((line) => line.includes('tool_calls":['));
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.every((line) => line.includes('"tool_calls":[{"index":0'))).toBe(true);
});

test("bug 25: a server without models returns an empty list, not null", async () => {
  await using empty = await startTestServer({ models: {} });
  expect(await (await fetch(`${empty.url}/v1/models`)).json()).toEqual({ object: "list", data: [] });
});
