import { expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const messages = [{ role: "user", content: "How is the weather?" }];
const tools = [
  { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } },
];

function startToolCallingServer(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    description: { splitsEvents: true },
    script: () => [
      { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_1", name: "weather" } },
      { do: "emit", event: { type: "tool-call-delta", index: 0, argumentsText: "{}" } },
      { do: "end", reason: "stop" },
    ],
  });
}

function startTextServer(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    script: () => [
      { do: "write", text: "Sunny" },
      { do: "end", reason: "stop" },
    ],
  });
}

function post(server: TestServer, path: string, body: object): Promise<Response> {
  return fetch(server.url + path, { method: "POST", body: JSON.stringify({ model: "tiny", ...body }) });
}

test("LiteLLM ollama_chat finish_reason for tools: done_reason stays stop, and tool_calls have their ids", async () => {
  await using server = await startToolCallingServer();
  const complete = await (await post(server, "/api/chat", { messages, tools, stream: false })).json();
  const call = { id: expect.stringMatching(/./u), function: { index: 0, name: "weather", arguments: {} } };
  expect(complete).toMatchObject({ done_reason: "stop", message: { tool_calls: [call] } });
  const lines = (await (await post(server, "/api/chat", { messages, tools })).text()).trimEnd().split("\n");
  const objects = lines.map((line) => JSON.parse(line));
  expect(objects.filter(({ message }) => message.tool_calls !== undefined)).toMatchObject([
    { done: false, message: { tool_calls: [call] } },
  ]);
  expect(objects.at(-1)).toMatchObject({ done: true, done_reason: "stop" });
});

test('keep_alive "-1" as a string rejected: it keeps the model loaded forever, in each API that accepts it', async () => {
  for (const [path, body] of [
    ["/api/chat", { messages, stream: false }],
    ["/api/generate", { prompt: "Hi", stream: false }],
    ["/v1/chat/completions", { messages }],
  ] as const) {
    await using server = await startTextServer();
    expect((await post(server, path, { ...body, keep_alive: "-1" })).status).toBe(200);
    // The response format of /api/ps.
    const { models } = (await (await fetch(`${server.url}/api/ps`)).json()) as {
      models: { expires_at: string }[];
    };
    expect(new Date(models[0]?.expires_at ?? "").getUTCFullYear()).toBeGreaterThan(2200);
    expect((await post(server, path, { ...body, keep_alive: "never" })).status).toBe(400);
  }
});

test("base URL with /v1 → /v1/v1/messages 404: the doubled path works like the single one", async () => {
  await using server = await startTextServer();
  const body = { messages, max_tokens: 16 };
  for (const path of ["/v1/messages", "/v1/v1/messages"]) {
    const response = await (await post(server, path, body)).json();
    expect(response).toMatchObject({ type: "message", content: [{ type: "text", text: "Sunny" }] });
  }
  const counted = await post(server, "/v1/v1/messages/count_tokens", { messages });
  expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
  expect((await post(server, "/v1/v1/v1/messages", body)).status).toBe(404);
});

test("CORS lacks x-api-key and anthropic-*: an allowed page may send them, another site may not", async () => {
  await using server = await startTextServer();
  const requestedHeaders =
    "anthropic-beta,anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key";
  const preflight = (origin: string) =>
    fetch(`${server.url}/v1/messages`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": requestedHeaders,
      },
    });
  const allowed = await preflight("app://obsidian.md");
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get("access-control-allow-headers")).toBe(requestedHeaders);
  expect((await preflight("https://example.com")).headers.get("access-control-allow-headers")).toBeNull();
});

test("format and thinking: with thinking on, the content still matches its schema, on real weights", async () => {
  await using server = await startTestServer({ models: { tiny } });
  const format = {
    type: "object",
    properties: { sky: { enum: ["grey", "blue"] } },
    required: ["sky"],
    additionalProperties: false,
  };
  const body = { messages, format, think: true, stream: false, options: { num_predict: 64 } };
  const response = await (await post(server, "/api/chat", body)).json();
  expect(response).toMatchObject({ done: true, done_reason: "stop", message: { role: "assistant" } });
  // The response format of /api/chat.
  const { message } = response as { message: { content: string } };
  expect(["grey", "blue"]).toContain(JSON.parse(message.content).sky);
});
