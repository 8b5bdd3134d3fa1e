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

/** An engine elsewhere that has nothing but OpenAI's interface, as behind a proxy: no tokenizer, and no context told. */
const stack = new AsyncDisposableStack();
let server: TestServer;
/** How many messages it got, request by request. */
const received: number[] = [];
let play: (response: ServerResponse) => void;

const piece = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`;
const thinkFirst = (response: ServerResponse): void => {
  response.write(piece({ reasoning: "Two and two make four." }));
  response.end(`${piece({ content: "Four." }, "stop")}data: [DONE]\n\n`);
};

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await request.toArray()).join("");
  if (request.url === "/v1/models") response.end('{"data":[{"id":"m"}]}');
  else if (request.url === "/health") response.end();
  else if (request.url === "/v1/chat/completions") {
    // What was sent to it is a request of this shape.
    received.push((JSON.parse(body) as { messages: unknown[] }).messages.length);
    play(response);
  } else response.writeHead(404).end();
}

beforeAll(async () => {
  const engine = createServer((request, response) => void answer(request, response));
  engine.listen(0, "127.0.0.1");
  await once(engine, "listening");
  stack.defer(() => {
    engine.closeAllConnections();
    engine.close();
  });
  // A server that listens on a port has such an address.
  const { port } = engine.address() as AddressInfo;
  const folder = stack.use(await makeTemporaryFolder("bare-engine"));
  const path = join(folder.path, "engines.toml");
  const entry = (name: string): string =>
    `[models.${name}]\ndialect = "${name}"\naddresses = ["http://127.0.0.1:${port}"]\ncapabilities = ["thinking", "vision"]\n`;
  await writeFile(path, entry("vllm") + entry("openai"));
  server = stack.use(await startTestServer({ models: {}, remote: await readEnginesFile(path) }));
});

afterAll(() => stack.disposeAsync());

async function ask(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

test.each(["vllm", "openai"])(
  "a long conversation goes whole to an engine of %s that tells no length, and its thoughts are estimated",
  async (model) => {
    play = thinkFirst;
    const messages = Array.from({ length: 41 }, (_none, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `${index} ${"long ".repeat(200)}`,
    }));
    expect(await ask("/api/chat", { model, messages, stream: false, think: true })).toMatchObject({
      status: 200,
      body: { done_reason: "stop", message: { thinking: "Two and two make four.", content: "Four." } },
    });
    expect(received.at(-1)).toBe(41);
  },
);

/** More than a megabyte. */
const largeImage = Buffer.from(drawBmp({ width: 640, height: 640 })).toString("base64");

test.each(["vllm", "openai"])(
  "tokens of %s are estimated for those who ask, an image as little",
  async (model) => {
    const source = { type: "base64", media_type: "image/bmp", data: largeImage };
    const content = [
      { type: "image", source },
      { type: "text", text: "What is it?" },
    ];
    const { status, body } = await ask("/alt/v1/messages/count_tokens", {
      model,
      messages: [{ role: "user", content }],
    });
    expect(status).toBe(200);
    // The family's answer has one field.
    const { input_tokens: tokens } = body as { input_tokens: number };
    expect(tokens).toBeGreaterThan(10);
    expect(tokens).toBeLessThan(500);
  },
);

test("an engine that writes on beyond what was asked for is ended, and the answer says so", async () => {
  const closed = Promise.withResolvers<void>();
  play = (response) => {
    const writing = setInterval(() => response.write(piece({ content: "more " }).repeat(20)), 1);
    response.on("close", () => {
      clearInterval(writing);
      closed.resolve();
    });
  };
  const messages = [{ role: "user", content: "Hi" }];
  const wish = { model: "openai", messages, stream: false, options: { num_predict: 5 } };
  expect(await ask("/api/chat", wish)).toMatchObject({ status: 200, body: { done_reason: "length" } });
  await closed.promise;
});
