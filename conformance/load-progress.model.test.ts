import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSlowServer } from "../apps/hearth/src/test/slow-load.ts";
import type { TestServer } from "../apps/hearth/src/test/start-test-server.ts";

const messages = [{ role: "user" as const, content: "Hi" }];
const chat = { model: "tiny", messages, max_tokens: 8, stream: true as const };
/** Longer than a load that is not reported. */
const slowly = 1300;

let server: TestServer;
beforeAll(async () => {
  server = await startSlowServer({ milliseconds: slowly, forgets: true });
});
afterAll(() => server[Symbol.asyncDispose]());

async function post(url: string, body: object, accept = "*/*"): Promise<Response> {
  return fetch(url, { method: "POST", headers: { accept }, body: JSON.stringify(body) });
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test.each([
  ["/v1/chat/completions", chat, "*/*"],
  ["/v1/completions", { model: "tiny", prompt: "Hi", stream: true }, "*/*"],
  ["/v1/responses", { model: "tiny", input: "Hi", stream: true, store: false }, "*/*"],
  ["/alt/v1/messages", chat, "*/*"],
  ["/api/chat", { model: "tiny", messages }, "text/event-stream"],
  ["/api/generate", { model: "tiny" }, "text/event-stream"],
])("a stream that waits for a load starts with comments: %s", async (path, body, accept) => {
  const response = await post(server.url + path, body, accept);
  const text = await response.text();
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(text).toMatch(/^: loading 40%\n\n(?:: loading 80%\n\n)?(?:event|data): /u);
  expect(text).toContain(path === "/api/generate" ? '"done_reason":"load"' : "Hello");
});

test("the openai client reads a stream with comments as one without", async () => {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const chunks = await collect(await client.chat.completions.create(chat));
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Hello");
  const events = await collect(
    await client.responses.create({ model: "tiny", input: "Hi", stream: true, store: false }),
  );
  expect(events[0]?.type).toBe("response.created");
  expect(events.at(-1)?.type).toBe("response.completed");
});

test("the Anthropic client reads a stream with comments as one without", async () => {
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "none", maxRetries: 0 });
  const { model, max_tokens } = chat;
  const stream = client.messages.stream({ model, max_tokens, messages });
  expect((await collect(stream))[0]?.type).toBe("message_start");
  expect(await stream.finalText()).toBe("Hello");
});

test("lines of JSON have no comments, because clients would take them for output", async () => {
  const body = await (await post(`${server.url}/api/chat`, { model: "tiny", messages })).text();
  const lines = body.trimEnd().split("\n");
  expect(lines.map((line) => typeof JSON.parse(line).message.content)).toEqual(["string", "string"]);
  const chunks = await collect(
    await new Ollama({ host: server.url }).chat({ model: "tiny", messages, stream: true }),
  );
  expect(chunks.map(({ message }) => message.content).join("")).toBe("Hello");
});

test("a load of less than a second is not reported, and neither is a model that is loaded already", async () => {
  await using fast = await startSlowServer({ milliseconds: 100 });
  const cold = await (await post(`${fast.url}/v1/chat/completions`, chat)).text();
  const warm = await (await post(`${fast.url}/v1/chat/completions`, chat)).text();
  expect([cold, warm].map((text) => text.slice(0, 6))).toEqual(["data: ", "data: "]);
  expect(cold + warm).not.toContain("loading");
});

test("a load that fails at once has its own status, and one that fails late ends the stream with an error", async () => {
  const failure = { kind: "insufficient-memory", neededBytes: 1e12 } as const;
  await using early = await startSlowServer({ milliseconds: 100, failure });
  const refused = await post(`${early.url}/v1/chat/completions`, chat);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  await using late = await startSlowServer({ milliseconds: slowly, failure });
  const broken = await post(`${late.url}/v1/chat/completions`, chat);
  expect(broken.status).toBe(200);
  expect(await broken.text()).toMatch(/^: loading 40%\n\ndata: \{"error":/u);
});
