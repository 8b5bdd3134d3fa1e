import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { protocolRequests } from "../../apps/hearth/src/test/protocol-requests.ts";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { readModels } from "./remote-model.ts";

/** SmolLM2 on llama.cpp's own server, as a model called "far". */
let server: TestServer;

beforeAll(async () => {
  const stack = new AsyncDisposableStack();
  const model = await testModel("smollm2-135m-instruct-q4_1.gguf");
  const engine = stack.use(await startLlamaServer({ model, parallelSlots: 2, contextTokens: 1024 }));
  const remote = await readModels(
    `[models.far]\ndialect = "llama-server"\naddresses = ["${engine.url}"]\ncapabilities = ["tools"]\n`,
  );
  server = stack.use(await startTestServer({ models: {}, remote }));
  return () => stack.disposeAsync();
}, 60_000);

async function send(
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(server.url + path, init);
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

const chat = (more: Readonly<Record<string, unknown>>) =>
  send("/v1/chat/completions", {
    model: "far",
    messages: [{ role: "user", content: "Say hi" }],
    max_tokens: 48,
    temperature: 0,
    ...more,
  });

test("a model on a remote engine responds over the Ollama, OpenAI and Anthropic APIs", {
  timeout: 60_000,
}, async () => {
  const limits: Readonly<Record<string, object>> = { Ollama: { num_predict: 8 } };
  for (const protocol of protocolRequests) {
    const settings = { temperature: 0, ...(limits[protocol.name] ?? { max_tokens: 8 }) };
    expect((await protocol.send(server, { model: "far", settings })).length).toBeGreaterThan(0);
  }
});

test("it is in every list, with its context length and without a size", async () => {
  await chat({ max_tokens: 1 });
  expect((await send("/api/tags")).body).toMatchObject({
    models: [{ name: "far:latest", size: 0, details: { format: "remote", context_length: 1024 } }],
  });
  expect((await send("/v1/models")).body).toMatchObject({
    data: [{ id: "far:latest", context_length: 1024 }],
  });
  expect((await send("/alt/v1/models")).body).toMatchObject({
    data: [{ id: "far:latest", max_input_tokens: 1024 }],
  });
  expect((await send("/api/show", { model: "far" })).body).toMatchObject({
    details: { format: "remote" },
    capabilities: ["completion", "tools"],
  });
  expect((await send("/api/ps")).body).toMatchObject({
    models: [{ name: "far:latest", size: 0, context_length: 1024 }],
  });
});

test("it cannot be copied or deleted, and still exists afterwards", async () => {
  expect((await send("/api/copy", { source: "far", destination: "near" })).status).toBe(400);
  expect((await send("/api/delete", { model: "far" })).body).toEqual({
    error: "cannot change model 'far': it runs on a remote engine",
    code: "model-on-remote-engine",
    model: "far",
  });
  expect((await send("/api/show", { model: "far" })).status).toBe(200);
});

test("tool calls can be required although the engine's template has no tools", {
  timeout: 60_000,
}, async () => {
  const parameters = {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  };
  const tools = [{ type: "function", function: { name: "add", description: "adds", parameters } }];
  expect((await chat({ tools, tool_choice: "required" })).body).toMatchObject({
    choices: [{ message: { tool_calls: [{ function: { name: "add" } }] }, finish_reason: "tool_calls" }],
  });
});

test("output matches a schema, log-probabilities are returned, and the engine counts tokens", {
  timeout: 60_000,
}, async () => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  };
  const { body } = await chat({
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
  });
  // The format is documented by OpenAI.
  const { choices } = body as { choices: { message: { content: string } }[] };
  expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ a: expect.any(Number) });
  expect((await chat({ logprobs: true, top_logprobs: 2, max_tokens: 2 })).body).toMatchObject({
    choices: [{ logprobs: { content: [{ top_logprobs: [{}, {}] }, {}] } }],
  });
  const counted = { model: "far", messages: [{ role: "user", content: "Hello there" }] };
  expect((await send("/alt/v1/messages/count_tokens", counted)).body).toEqual({ input_tokens: 32 });
});

test("a prompt longer than the engine's context is rejected with both token counts", async () => {
  const messages = [{ role: "user", content: "word ".repeat(2000) }];
  expect(await chat({ messages })).toEqual({
    status: 400,
    body: {
      error: expect.objectContaining({
        code: "context_length_exceeded",
        message: expect.stringMatching(/maximum context length is 1024 tokens.*, but the prompt has 20\d\d/u),
      }),
    },
  });
});
