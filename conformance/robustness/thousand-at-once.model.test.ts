import { setTimeout as sleep } from "node:timers/promises";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { collect, speakers } from "./clients.ts";
import { findShapeFault } from "./error-shape.ts";

const requestCount = 1000;
const sequences = 4;
const waitingLine = 64;

type Door = {
  readonly path: string;
  readonly family: Protocol["name"];
  readonly body: object;
  /** What this family says when there is no place. */
  readonly busyStatus: 503 | 529;
};

const turn = { role: "user", content: "Hello" };
const doors: readonly Door[] = [
  { path: "/api/chat", family: "ollama", body: { messages: [turn], stream: false }, busyStatus: 503 },
  { path: "/api/generate", family: "ollama", body: { prompt: "Hello", stream: true }, busyStatus: 503 },
  { path: "/v1/chat/completions", family: "openai", body: { messages: [turn] }, busyStatus: 503 },
  { path: "/v1/responses", family: "openai", body: { input: "Hello", stream: true }, busyStatus: 503 },
  { path: "/v1/messages", family: "anthropic", body: { messages: [turn], max_tokens: 4 }, busyStatus: 529 },
];

type Gate = { readonly script: FakeEngineScript; open(): void };

/** An engine that holds every request until the test lets go. */
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
  return startTestServer({ models: { tiny }, script, limits: { sequences, maxQueuedPerModel: waitingLine } });
}

type Outcome = { readonly door: Door; readonly response: Response; readonly text: string };

async function knock({ url }: TestServer, door: Door): Promise<Outcome> {
  const body = JSON.stringify({ model: "tiny", ...door.body });
  const response = await fetch(`${url}${door.path}`, { method: "POST", body });
  return { door, response, text: await response.text() };
}

test("of a thousand requests at once exactly as many are accepted as there are places and waiters", {
  timeout: 120_000,
}, async () => {
  const gate = createGate();
  await using server = await startFullServer(gate);
  let answered = 0;
  const outcomes = Array.from({ length: requestCount }, async (_none, index) => {
    const outcome = await knock(server, doors[index % doors.length] ?? failToFind());
    answered += 1;
    return outcome;
  });
  await expect.poll(() => answered, { timeout: 60_000 }).toBe(requestCount - sequences - waitingLine);
  // Nobody else is turned away later.
  await sleep(300);
  expect(answered).toBe(requestCount - sequences - waitingLine);
  gate.open();
  const all = await Promise.all(outcomes);
  const accepted = all.filter(({ response }) => response.ok);
  const refused = all.filter(({ response }) => !response.ok);
  expect(accepted.filter(({ text }) => !text.includes("Hello"))).toEqual([]);
  for (const { door, response, text } of refused) {
    expect(response.status).toBe(door.busyStatus);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(response.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    const contentType = response.headers.get("content-type") ?? "";
    expect(findShapeFault(door.family, { status: response.status, contentType, body: text })).toBeUndefined();
  }
  recordFigure({
    claim: "families 12",
    text: `${requestCount} requests at once: ${accepted.length} accepted (needed exactly ${sequences + waitingLine}), ${refused.length} refused with 503 or 529 and Retry-After`,
    counted: { reached: accepted.length, needed: sequences + waitingLine },
  });
  expect(accepted).toHaveLength(sequences + waitingLine);
});

test("official clients that find the line full come back by themselves and are answered", {
  timeout: 120_000,
}, async () => {
  const gate = createGate();
  await using server = await startFullServer(gate);
  const crowd = Array.from({ length: sequences + waitingLine }, () =>
    knock(server, doors[0] ?? failToFind()),
  );
  await expect.poll(() => server.scheduler.queueLengths()[0]?.waiting).toBe(waitingLine);
  const asked = { model: "tiny", text: "Hello", maxTokens: 4, maxRetries: 4 };
  const retrying = speakers.filter(({ name }) => !name.startsWith("ollama"));
  const answers = retrying.map(({ ask }) => collect(ask(server.url, asked)));
  const turnedAway = (): number =>
    server.logRecords().filter(({ failure }) => failure === "queue-full").length;
  await expect.poll(turnedAway).toBe(retrying.length);
  // Ollama's client never asks twice; it throws the words that programs look for.
  for (const { ask } of speakers.filter(({ name }) => name.startsWith("ollama"))) {
    await expect(collect(ask(server.url, asked))).rejects.toThrow("server busy, please try again.");
  }
  gate.open();
  expect(await Promise.all(answers)).toEqual(retrying.map(() => "Hello"));
  await Promise.all(crowd);
  recordFigure({
    claim: "families 12",
    text: `${answers.length} of ${retrying.length} calls of official clients were turned away first, retried by themselves and were answered`,
    counted: { reached: answers.length, needed: retrying.length },
  });
});

function failToFind(): never {
  throw new Error("Cannot find a door");
}
