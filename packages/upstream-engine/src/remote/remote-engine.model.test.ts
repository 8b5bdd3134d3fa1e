import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Conversation, EngineEvent, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createEngineClient } from "../wire/engine-client.ts";
import { type DialectName, dialects } from "./dialects.ts";
import { classifyError } from "./map-error.ts";
import { createRemoteEngine, type RemoteEngine } from "./remote-engine.ts";

const never = new AbortController().signal;
const models = '{"data":[{"id":"m"}]}';

type Handler = (response: ServerResponse, request: IncomingMessage) => unknown;
type Fixture = AsyncDisposable & { readonly engine: RemoteEngine; readonly requests: string[] };

/** A fake engine with a handler per path; any other path returns 404. */
async function start(dialect: DialectName, handlers: Readonly<Record<string, Handler>>): Promise<Fixture> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { url: path = "" } = request;
    requests.push(path);
    const handle = handlers[path] ?? ((other: ServerResponse) => other.writeHead(404).end("{}"));
    if (path === "/v1/models") response.end(models);
    else handle(response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  const client = createEngineClient({ address: new URL(`http://127.0.0.1:${port}`) });
  return {
    engine: createRemoteEngine(client, {
      dialect: dialects[dialect],
      canSeeImages: false,
      canHearAudio: false,
    }),
    requests,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const respondWith =
  (value: unknown, status = 200): Handler =>
  (response) =>
    response.writeHead(status).end(JSON.stringify(value));

const stream =
  (...events: readonly unknown[]): Handler =>
  (response) =>
    response.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);

const chunk = (content: string, finish: string | null = null, more = {}): unknown => ({
  choices: [{ delta: { content }, finish_reason: finish }],
  ...more,
});

const conversation: Conversation = { messages: [{ role: "user", content: "Hi" }] };
const request: EngineRequest = {
  input: { type: "conversation", conversation },
  maxTokens: 50,
  cachePartition: "",
  sampling: greedySampling,
};
const chat = "/v1/chat/completions";

async function generate(
  handle: Handler,
): Promise<{ readonly events: EngineEvent[]; readonly requests: string[] }> {
  await using started = await start("vllm", { [chat]: handle });
  const events = await Array.fromAsync(started.engine.generate(request, never));
  return { events, requests: started.requests };
}

const afterOneToken: Handler = (response) => sleep(1100).then(() => response.end());

test("an SGLang whose health endpoint generates a token is recognized as healthy immediately", async () => {
  await using started = await start("sglang", { "/health": afterOneToken });
  const startedAt = performance.now();
  await started.engine.checkHealth(never);
  expect(performance.now() - startedAt).toBeLessThan(900);
  expect(started.requests).not.toContain("/health");
});

test.each(["vllm", "llama-server"] as const)(
  "the health of %s is checked at its own endpoint",
  async (name) => {
    await using healthy = await start(name, { "/health": respondWith({}) });
    await expect(healthy.engine.checkHealth(never)).resolves.toBeUndefined();
    await using dead = await start(name, { "/health": respondWith({}, 503) });
    await expect(dead.engine.checkHealth(never)).rejects.toMatchObject({ detail: { status: 503 } });
  },
);

const countingNotSupported = { failure: { kind: "not-supported", feature: "token counting" } };

test("an engine without a tokenizer cannot count, and is not requested again for a while", async () => {
  await using started = await start("vllm", {});
  const { engine, requests } = started;
  await expect(engine.count(conversation, never)).rejects.toMatchObject(countingNotSupported);
  await expect(engine.count(conversation, never)).rejects.toMatchObject(countingNotSupported);
  await expect(engine.tokenize("Hi", never)).rejects.toMatchObject(countingNotSupported);
  expect(requests.filter((path) => path === "/tokenize")).toHaveLength(1);
});

test("an engine with a tokenizer still counts after an invalid request", async () => {
  let isInvalid = true;
  await using started = await start("sglang", {
    "/v1/tokenize": (response, incoming) =>
      isInvalid
        ? respondWith({}, 400)(response, incoming)
        : respondWith({ tokens: [1, 2, 3] })(response, incoming),
  });
  const { engine } = started;
  await expect(engine.count(conversation, never)).rejects.toMatchObject({ detail: { status: 400 } });
  isInvalid = false;
  expect(await engine.count(conversation, never)).toBe(3);
  expect(await engine.tokenize("Hi", never)).toEqual([1, 2, 3]);
});

test("a plain OpenAI API is never used for counting, and counts are never estimated", async () => {
  await using started = await start("openai", { "/tokenize": respondWith({ count: 1, tokens: [1] }) });
  await expect(started.engine.count(conversation, never)).rejects.toMatchObject(countingNotSupported);
  await using unexpected = await start("vllm", { "/tokenize": respondWith({}) });
  await expect(unexpected.engine.count(conversation, never)).rejects.toMatchObject(countingNotSupported);
});

test.each(["content_filter", "eos", "tool_calls", "stop"])(
  "a response with the finish reason %s is complete",
  async (reason) => {
    const { events } = await generate(stream(chunk("all of it"), chunk("", reason)));
    expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
  },
);

test.each([null, "abort", "error"])(
  "a response with the finish reason %s was interrupted",
  async (reason) => {
    await expect(generate(stream(chunk("half"), chunk("", reason)))).rejects.toMatchObject({
      detail: { kind: "interrupted" },
    });
  },
);

test("an empty error field in every event is ignored", async () => {
  const { events } = await generate(stream(chunk("fine", "stop", { error: null })));
  expect(events[0]).toMatchObject({ type: "text-delta", text: "fine" });
});

const alternating =
  "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
  "{{ raise_exception('Conversation roles must alternate') }}{% endif %}{{ message['content'] }}{% endfor %}";

test("with a real model, a conversation that the template rejects is a client error, and another one succeeds", {
  timeout: 60_000,
}, async () => {
  const model = await testModel("tiny-llama.gguf");
  await using server = await startLlamaServer({ model, chatTemplate: alternating });
  using client = createEngineClient({ address: new URL(server.url) });
  const engine = createRemoteEngine(client, {
    dialect: dialects["llama-server"],
    canSeeImages: false,
    canHearAudio: false,
  });
  const generateWith = (times: number): Promise<EngineEvent[]> => {
    const messages = conversation.messages.flatMap((message) => Array.from({ length: times }, () => message));
    const input = { type: "conversation", conversation: { messages } } as const;
    return Array.fromAsync(engine.generate({ ...request, maxTokens: 2, input }, never));
  };
  expect((await generateWith(1)).at(-1)).toMatchObject({ type: "generation-end" });
  const error: unknown = await generateWith(2).catch((thrown: unknown) => thrown);
  expect(classifyError(error)).toEqual({
    type: "client-error",
    failure: { kind: "template-failed", reason: "the message roles must alternate" },
  });
});

const tooLong = "maximum context length is 100 tokens. However, your request has 90 input tokens";

test("a request that is too long for the context is retried with the remaining tokens", async () => {
  const bodies: string[] = [];
  const { events } = await generate(async (response, incoming) => {
    bodies.push((await incoming.toArray()).join(""));
    const first = stream({ error: { code: 400, message: tooLong } });
    const handle = bodies.length === 1 ? first : stream(chunk("short", "stop"));
    handle(response, incoming);
  });
  expect(bodies.map((body) => /"max_tokens":(\d+)/u.exec(body)?.[1])).toEqual(["50", "10"]);
  expect(events[0]).toMatchObject({ text: "short" });
});

test("a response that has already produced output is never retried", async () => {
  let times = 0;
  const generating = generate((response, incoming) => {
    times += 1;
    stream(chunk("half"), { error: { code: 400, message: tooLong } })(response, incoming);
  });
  await expect(generating).rejects.toMatchObject({ detail: { kind: "error-response", isMidStream: true } });
  expect(times).toBe(1);
});

async function embed(rows: unknown) {
  await using started = await start("openai", {
    "/v1/embeddings": (response) =>
      response.end(`{"data":${JSON.stringify(rows).replaceAll('"huge"', "1e999")}}`),
  });
  const { vectors } = await started.engine.embed({ texts: ["a", "b"], truncates: false }, never);
  return vectors.map((vector) => [...vector]);
}

test.each([
  [
    "rows in any order",
    [
      { index: 1, embedding: [2, 3] },
      { index: 0, embedding: [0, 1] },
    ],
  ],
  ["rows without an index", [{ embedding: [0, 1] }, { embedding: [2, 3] }]],
])("each text gets its own vector: %s", async (_how, rows) => {
  expect(await embed(rows)).toEqual([
    [0, 1],
    [2, 3],
  ]);
});

const first = { index: 0, embedding: [0, 1] };

test.each([
  ["a row is missing", [{ index: 1, embedding: [2, 3] }]],
  ["there is a row too many", [first, { index: 1, embedding: [1, 2] }, { index: 2, embedding: [1, 2] }]],
  ["a row is repeated", [first, first]],
  ["a row has an index out of range", [first, { index: 7, embedding: [2, 3] }]],
  ["a row has an invalid index", [first, { index: "1", embedding: [2, 3] }]],
  ["a vector is empty", [first, { index: 1, embedding: [] }]],
  ["a vector has another length", [first, { index: 1, embedding: [2, 3, 4] }]],
  ["a vector contains strings", [first, { index: 1, embedding: ["2", "3"] }]],
  ["a number is not finite", [first, { index: 1, embedding: [2, "huge"] }]],
  ["there are no rows", null],
])("an embeddings response is invalid if %s", async (_what, rows) => {
  await expect(embed(rows)).rejects.toMatchObject({ detail: { kind: "invalid-response" } });
});
