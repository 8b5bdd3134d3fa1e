import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawBmp } from "../images/test/draw-images.ts";
import { readEnginesFile } from "../models/remote/engines-file.ts";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";

// A remote engine with nothing but OpenAI's chat API, as behind a proxy: no tokenizer and no reported context size.
const stack = new AsyncDisposableStack();
let server: TestServer;
/** The number of messages of each request it received. */
const received: number[] = [];
let respond: (response: ServerResponse) => void;

const chunk = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`;
const respondWithThinking = (response: ServerResponse): void => {
  response.write(chunk({ reasoning: "Two and two make four." }));
  response.end(`${chunk({ content: "Four." }, "stop")}data: [DONE]\n\n`);
};

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await request.toArray()).join("");
  if (request.url === "/v1/models") response.end('{"data":[{"id":"m"}]}');
  else if (request.url === "/health") response.end();
  else if (request.url === "/v1/chat/completions") {
    // Hearth sends chat completion requests.
    received.push((JSON.parse(body) as { messages: unknown[] }).messages.length);
    respond(response);
  } else response.writeHead(404).end();
}

beforeAll(async () => {
  const engine = createServer((request, response) => void handle(request, response));
  engine.listen(0, "127.0.0.1");
  await once(engine, "listening");
  stack.defer(() => {
    engine.closeAllConnections();
    engine.close();
  });
  // A server that listens on a TCP port has an address of this type.
  const { port } = engine.address() as AddressInfo;
  const folder = stack.use(await makeTemporaryFolder("minimal-engine"));
  const path = join(folder.path, "engines.toml");
  const entry = (name: string): string =>
    `[models.${name}]\ndialect = "${name}"\naddresses = ["http://127.0.0.1:${port}"]\ncapabilities = ["thinking", "vision"]\n`;
  await writeFile(path, entry("vllm") + entry("openai"));
  server = stack.use(await startTestServer({ models: {}, remote: await readEnginesFile(path) }));
});

afterAll(() => stack.disposeAsync());

async function post(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

test.each(["vllm", "openai"])(
  "a long conversation is sent unchanged to a %s engine without a known context, and its thinking is estimated",
  async (model) => {
    respond = respondWithThinking;
    const messages = Array.from({ length: 41 }, (_none, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `${index} ${"long ".repeat(200)}`,
    }));
    expect(await post("/api/chat", { model, messages, stream: false, think: true })).toMatchObject({
      status: 200,
      body: { done_reason: "stop", message: { thinking: "Two and two make four.", content: "Four." } },
    });
    expect(received.at(-1)).toBe(41);
  },
);

/** Over 1 MB. */
const largeImage = Buffer.from(drawBmp({ width: 640, height: 640 })).toString("base64");

test.each(["vllm", "openai"])(
  "token counts for %s are estimated, with a small constant per image",
  async (model) => {
    const source = { type: "base64", media_type: "image/bmp", data: largeImage };
    const content = [
      { type: "image", source },
      { type: "text", text: "What is it?" },
    ];
    const { status, body } = await post("/alt/v1/messages/count_tokens", {
      model,
      messages: [{ role: "user", content }],
    });
    expect(status).toBe(200);
    // The response has one field.
    const { input_tokens: tokens } = body as { input_tokens: number };
    expect(tokens).toBeGreaterThan(10);
    expect(tokens).toBeLessThan(500);
  },
);

test("an engine that ignores its token limit is stopped, and the response ends with length", async () => {
  const closed = Promise.withResolvers<void>();
  respond = (response) => {
    const writing = setInterval(() => response.write(chunk({ content: "more " }).repeat(20)), 1);
    response.on("close", () => {
      clearInterval(writing);
      closed.resolve();
    });
  };
  const messages = [{ role: "user", content: "Hi" }];
  const body = { model: "openai", messages, stream: false, options: { num_predict: 5 } };
  expect(await post("/api/chat", body)).toMatchObject({ status: 200, body: { done_reason: "length" } });
  await closed.promise;
});
