import { expect, test } from "vitest";
import { accessKey } from "./access/keys.ts";
import { startTestServer, tiny } from "./test/start-test-server.ts";

const messages = [{ role: "user", content: "Hi" }];
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };

async function startServer() {
  const server = await startTestServer({
    models: { tiny },
    script: () => [{ do: "end", reason: "stop" }],
    description: { splitsEvents: true },
    access: { keys: [accessKey("owner", "owner-key"), accessKey("guest", "guest-key", "inference")] },
  });
  const send = async (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { "x-api-key": "owner-key", ...headers },
      body: JSON.stringify({ model: "tiny", ...body }),
    });
    await response.text();
    return { status: response.status, ignored: response.headers.get("hearth-ignored") };
  };
  return { ...server, send };
}

test("keep_alive has an effect for an admin, and is named for a key for inference", async () => {
  await using server = await startServer();
  for (const [path, body] of [
    ["/api/chat", { messages, keep_alive: "5m" }],
    ["/v1/chat/completions", { messages, keep_alive: "5m" }],
  ] as const) {
    const guest = { "x-api-key": "guest-key" };
    expect(await server.send(path, body, guest)).toEqual({ status: 200, ignored: 'fields=("keep_alive")' });
    expect(await server.send(path, body)).toEqual({ status: 200, ignored: null });
  }
});

test("keywords of a schema are named once, however many choices there are", async () => {
  await using server = await startServer();
  const schema = { type: "array", items: { type: "string" }, uniqueItems: true };
  const format = { type: "json_schema", json_schema: { name: "list", schema } };
  const body = { messages, n: 3, response_format: format };
  const named = { status: 200, ignored: 'keywords=("uniqueItems")' };
  expect(await server.send("/v1/chat/completions", body)).toEqual(named);
});

test("images that a sentence replaces are named, and so are the accounts of a vendor", async () => {
  await using server = await startServer();
  const result = { role: "tool", tool_call_id: "c1", content: [image] };
  const history = [...messages, { role: "assistant", tool_calls: [call] }, result];
  const project = { "openai-project": "proj_1" };
  expect(await server.send("/v1/chat/completions", { messages: history }, project)).toEqual({
    status: 200,
    ignored: 'fields=("openai-project"), blocks=("image_url")',
  });
  const source = { type: "base64", media_type: "image/png", data: "AAAA" };
  const content = [
    { type: "image", source },
    { type: "redacted_thinking", data: "x" },
  ];
  const body = { messages: [{ role: "user", content }], max_tokens: 8 };
  for (const path of ["/v1/messages", "/alt/v1/messages"]) {
    expect(await server.send(path, body)).toEqual({
      status: 200,
      ignored: 'blocks=("image" "redacted_thinking")',
    });
  }
});

test("a continued thread is rejected with the code on which clients send all messages, and a new one is ignored", async () => {
  await using server = await startServer();
  const body = { messages, max_tokens: 8 };
  const thread = { type: "continue", previous_message_id: "msg_1" };
  const named = 'fields=("thread")';
  expect(await server.send("/v1/messages", { ...body, thread })).toEqual({ status: 404, ignored: named });
  expect(await server.send("/v1/messages", { ...body, thread: { type: "create" } })).toEqual({
    status: 200,
    ignored: named,
  });
});
