import { setTimeout as sleep } from "node:timers/promises";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { clientCalls, collect } from "./clients.ts";
import { findShapeFault } from "./error-shape.ts";

const requestCount = 1000;
const sequences = 4;
const maxQueued = 64;

type Endpoint = {
  readonly path: string;
  readonly protocol: Protocol["name"];
  readonly body: object;
  /** The status of this API when the queue is full. */
  readonly busyStatus: 503 | 529;
};

const turn = { role: "user", content: "Hello" };
const endpoints: readonly Endpoint[] = [
  { path: "/api/chat", protocol: "ollama", body: { messages: [turn], stream: false }, busyStatus: 503 },
  { path: "/api/generate", protocol: "ollama", body: { prompt: "Hello", stream: true }, busyStatus: 503 },
  { path: "/v1/chat/completions", protocol: "openai", body: { messages: [turn] }, busyStatus: 503 },
  { path: "/v1/responses", protocol: "openai", body: { input: "Hello", stream: true }, busyStatus: 503 },
  { path: "/v1/messages", protocol: "anthropic", body: { messages: [turn], max_tokens: 4 }, busyStatus: 529 },
];

type Gate = { readonly script: FakeEngineScript; open(): void };

/** An engine that holds every request until the gate is opened. */
function createGate(): Gate {
  const closed = new Set(["closed"]);
  return {
    open: () => closed.clear(),
    script: function* () {
      while (closed.size > 0) yield { do: "wait", milliseconds: 20 };
      yield { do: "write", text: "Hello" };
      yield { do: "end", reason: "stop" };
    },
  };
}

function startFullServer({ script }: Gate): Promise<TestServer> {
  return startTestServer({ models: { tiny }, script, limits: { sequences, maxQueuedPerModel: maxQueued } });
}

type Outcome = { readonly endpoint: Endpoint; readonly response: Response; readonly text: string };

async function send({ url }: TestServer, endpoint: Endpoint): Promise<Outcome> {
  const body = JSON.stringify({ model: "tiny", ...endpoint.body });
  const response = await fetch(`${url}${endpoint.path}`, { method: "POST", body });
  return { endpoint, response, text: await response.text() };
}

test("of a thousand concurrent requests, exactly as many are accepted as the slots and the queue can hold", {
  timeout: 120_000,
}, async () => {
  const gate = createGate();
  await using server = await startFullServer(gate);
  let finished = 0;
  const outcomes = Array.from({ length: requestCount }, async (_none, index) => {
    const outcome = await send(server, endpoints[index % endpoints.length] ?? failToFind());
    finished += 1;
    return outcome;
  });
  await expect.poll(() => finished, { timeout: 60_000 }).toBe(requestCount - sequences - maxQueued);
  // No other request is rejected later.
  await sleep(300);
  expect(finished).toBe(requestCount - sequences - maxQueued);
  gate.open();
  const all = await Promise.all(outcomes);
  const accepted = all.filter(({ response }) => response.ok);
  const rejected = all.filter(({ response }) => !response.ok);
  expect(accepted.filter(({ text }) => !text.includes("Hello"))).toEqual([]);
  for (const { endpoint, response, text } of rejected) {
    expect(response.status).toBe(endpoint.busyStatus);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(response.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    const contentType = response.headers.get("content-type") ?? "";
    expect(
      findShapeFault(endpoint.protocol, { status: response.status, contentType, body: text }),
    ).toBeUndefined();
  }
  recordFigure({
    claim: "families 12",
    text: `${requestCount} requests at once: ${accepted.length} accepted (needed exactly ${sequences + maxQueued}), ${rejected.length} rejected with 503 or 529 and Retry-After`,
    counted: { reached: accepted.length, needed: sequences + maxQueued },
  });
  expect(accepted).toHaveLength(sequences + maxQueued);
});

test("official clients that find the queue full retry by themselves and succeed", {
  timeout: 120_000,
}, async () => {
  const gate = createGate();
  await using server = await startFullServer(gate);
  const pending = Array.from({ length: sequences + maxQueued }, () =>
    send(server, endpoints[0] ?? failToFind()),
  );
  await expect.poll(() => server.scheduler.queueLengths()[0]?.waiting).toBe(maxQueued);
  const request = { model: "tiny", text: "Hello", maxTokens: 4, maxRetries: 4 };
  const retrying = clientCalls.filter(({ name }) => !name.startsWith("ollama"));
  const outputs = retrying.map(({ stream }) => collect(stream(server.url, request)));
  const rejectedCount = (): number =>
    server.logRecords().filter(({ failure }) => failure === "queue-full").length;
  await expect.poll(rejectedCount).toBe(retrying.length);
  // Ollama's client never retries; it throws the text that programs match.
  for (const { stream } of clientCalls.filter(({ name }) => name.startsWith("ollama"))) {
    await expect(collect(stream(server.url, request))).rejects.toThrow("server busy, please try again.");
  }
  gate.open();
  expect(await Promise.all(outputs)).toEqual(retrying.map(() => "Hello"));
  await Promise.all(pending);
  recordFigure({
    claim: "families 12",
    text: `${outputs.length} of ${retrying.length} calls of official clients were rejected first, retried by themselves and succeeded`,
    counted: { reached: outputs.length, needed: retrying.length },
  });
});

function failToFind(): never {
  throw new Error("No endpoint is defined");
}
