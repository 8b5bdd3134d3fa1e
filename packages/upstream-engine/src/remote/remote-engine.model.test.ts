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
import { explainRefusal } from "./map-error.ts";
import { createRemoteEngine, type RemoteEngine } from "./remote-engine.ts";

const never = new AbortController().signal;
const models = '{"data":[{"id":"m"}]}';

type Play = (response: ServerResponse, request: IncomingMessage) => unknown;
type Started = AsyncDisposable & { readonly engine: RemoteEngine; readonly asked: string[] };

/** An engine that answers paths as a test says, and everything else with 404. */
async function start(dialect: DialectName, plays: Readonly<Record<string, Play>>): Promise<Started> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { url: path = "" } = request;
    asked.push(path);
    const play = plays[path] ?? ((other: ServerResponse) => other.writeHead(404).end("{}"));
    if (path === "/v1/models") response.end(models);
    else play(response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const client = createEngineClient({ address: new URL(`http://127.0.0.1:${port}`) });
  return {
    engine: createRemoteEngine(client, { dialect: dialects[dialect], canSeeImages: false }),
    asked,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const answerWith =
  (value: unknown, status = 200): Play =>
  (response) =>
    response.writeHead(status).end(JSON.stringify(value));

const stream =
  (...events: readonly unknown[]): Play =>
  (response) =>
    response.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);

const piece = (content: string, finish: string | null = null, more = {}): unknown => ({
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

async function generate(play: Play): Promise<{ readonly events: EngineEvent[]; readonly asked: string[] }> {
  await using started = await start("vllm", { [chat]: play });
  const events = await Array.fromAsync(started.engine.generate(request, never));
  return { events, asked: started.asked };
}

const afterOneToken: Play = (response) => sleep(1100).then(() => response.end());

test("an SGLang whose health has a token generated counts as well at once", async () => {
  await using started = await start("sglang", { "/health": afterOneToken });
  const startedAt = performance.now();
  await started.engine.checkHealth(never);
  expect(performance.now() - startedAt).toBeLessThan(900);
  expect(started.asked).not.toContain("/health");
});

test.each(["vllm", "llama-server"] as const)(
  "the health of %s is asked where it says so itself",
  async (name) => {
    await using well = await start(name, { "/health": answerWith({}) });
    await expect(well.engine.checkHealth(never)).resolves.toBeUndefined();
    await using dead = await start(name, { "/health": answerWith({}, 503) });
    await expect(dead.engine.checkHealth(never)).rejects.toMatchObject({ detail: { status: 503 } });
  },
);

const cannotCount = { failure: { kind: "not-supported", feature: "counting tokens" } };

test("an engine without a tokenizer says that it cannot count, and is not asked again for a while", async () => {
  await using started = await start("vllm", {});
  const { engine, asked } = started;
  await expect(engine.count(conversation, never)).rejects.toMatchObject(cannotCount);
  await expect(engine.count(conversation, never)).rejects.toMatchObject(cannotCount);
  await expect(engine.tokenize("Hi", never)).rejects.toMatchObject(cannotCount);
  expect(asked.filter((path) => path === "/tokenize")).toHaveLength(1);
});

test("an engine with a tokenizer counts with it, whatever one request asked wrongly", async () => {
  let isWrong = true;
  await using started = await start("sglang", {
    "/v1/tokenize": (response, asked) =>
      isWrong ? answerWith({}, 400)(response, asked) : answerWith({ tokens: [1, 2, 3] })(response, asked),
  });
  const { engine } = started;
  await expect(engine.count(conversation, never)).rejects.toMatchObject({ detail: { status: 400 } });
  isWrong = false;
  expect(await engine.count(conversation, never)).toBe(3);
  expect(await engine.tokenize("Hi", never)).toEqual([1, 2, 3]);
});

test("a plain OpenAI interface is not asked to count, and no guess stands for a count", async () => {
  await using started = await start("openai", { "/tokenize": answerWith({ count: 1, tokens: [1] }) });
  await expect(started.engine.count(conversation, never)).rejects.toMatchObject(cannotCount);
  await using strange = await start("vllm", { "/tokenize": answerWith({}) });
  await expect(strange.engine.count(conversation, never)).rejects.toMatchObject(cannotCount);
});

test.each(["content_filter", "eos", "tool_calls", "stop"])(
  "an answer that ends with the reason %s is whole",
  async (reason) => {
    const { events } = await generate(stream(piece("all of it"), piece("", reason)));
    expect(events.at(-1)).toMatchObject({ type: "generation-end", reason: "stop" });
  },
);

test.each([null, "abort", "error"])("an answer that ends with %s was cut off", async (reason) => {
  await expect(generate(stream(piece("half"), piece("", reason)))).rejects.toMatchObject({
    detail: { kind: "cut-off" },
  });
});

test("an empty error in every event is none", async () => {
  const { events } = await generate(stream(piece("fine", "stop", { error: null })));
  expect(events[0]).toMatchObject({ type: "text-delta", text: "fine" });
});

const alternating =
  "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
  "{{ raise_exception('Conversation roles must alternate') }}{% endif %}{{ message['content'] }}{% endfor %}";

test("on real weights a conversation that the template refuses is the caller's, and another is answered", {
  timeout: 60_000,
}, async () => {
  const model = await testModel("tiny-llama.gguf");
  await using server = await startLlamaServer({ model, chatTemplate: alternating });
  using client = createEngineClient({ address: new URL(server.url) });
  const engine = createRemoteEngine(client, { dialect: dialects["llama-server"], canSeeImages: false });
  const ask = (times: number): Promise<EngineEvent[]> => {
    const messages = conversation.messages.flatMap((message) => Array.from({ length: times }, () => message));
    const input = { type: "conversation", conversation: { messages } } as const;
    return Array.fromAsync(engine.generate({ ...request, maxTokens: 2, input }, never));
  };
  expect((await ask(1)).at(-1)).toMatchObject({ type: "generation-end" });
  const problem: unknown = await ask(2).catch((thrown: unknown) => thrown);
  expect(explainRefusal(problem)).toEqual({
    type: "caller",
    failure: { kind: "template-failed", reason: "the roles of its messages must alternate" },
  });
});

const tooLong = "maximum context length is 100 tokens. However, your request has 90 input tokens";

test("an engine that tells within its stream how much room there is, is asked for that much", async () => {
  const bodies: string[] = [];
  const { events } = await generate(async (response, asked) => {
    bodies.push((await asked.toArray()).join(""));
    const first = stream({ error: { code: 400, message: tooLong } });
    const play = bodies.length === 1 ? first : stream(piece("short", "stop"));
    play(response, asked);
  });
  expect(bodies.map((body) => /"max_tokens":(\d+)/u.exec(body)?.[1])).toEqual(["50", "10"]);
  expect(events[0]).toMatchObject({ text: "short" });
});

test("an answer of which a part was given out is not asked for again, whatever the engine then says", async () => {
  let times = 0;
  const asking = generate((response, asked) => {
    times += 1;
    stream(piece("half"), { error: { code: 400, message: tooLong } })(response, asked);
  });
  await expect(asking).rejects.toMatchObject({ detail: { kind: "refused", isMidway: true } });
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
    "in any order",
    [
      { index: 1, embedding: [2, 3] },
      { index: 0, embedding: [0, 1] },
    ],
  ],
  ["without numbers of rows", [{ embedding: [0, 1] }, { embedding: [2, 3] }]],
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
  ["a row comes twice", [first, first]],
  ["a row stands for no text", [first, { index: 7, embedding: [2, 3] }]],
  ["a row has no number", [first, { index: "1", embedding: [2, 3] }]],
  ["a vector is empty", [first, { index: 1, embedding: [] }]],
  ["a vector has another length", [first, { index: 1, embedding: [2, 3, 4] }]],
  ["a vector has no numbers", [first, { index: 1, embedding: ["2", "3"] }]],
  ["a number is not finite", [first, { index: 1, embedding: [2, "huge"] }]],
  ["there are no rows", null],
])("vectors are refused as the engine's failure when %s", async (_what, rows) => {
  await expect(embed(rows)).rejects.toMatchObject({ detail: { kind: "not-understood" } });
});
