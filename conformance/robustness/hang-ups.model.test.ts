import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineDriver } from "@hearth-and-keep/engine";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { upperBound, worstOf } from "../../bench/rounds.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";

const slots = 2;
const waveSize = 8;
/** Connections that hang up one at a time, and together in waves: 40, 1,000 and 10,000. */
const single = chooseSize({ ci: 24, show: 480, nightly: 4800 });
const waves = chooseSize({ ci: 2, show: 65, nightly: 650 });
const maxDecodeMilliseconds = 250;
const maxPromptMilliseconds = 2000;

/**
 * A client that half-closes its connection could still read, but to the server it has disconnected, as in every server of
 * Node: generation stops, and the connection is closed without the last chunk, so that no client takes the text for
 * complete. A pipelined connection has sent two more requests behind the first one.
 */
const ways = ["FIN", "RST", "half-close"] as const;
type Way = (typeof ways)[number];
const hangUps = [...ways, "pipelined"] as const;
type HangUp = (typeof hangUps)[number];
const phases = ["decoding", "prompt", "queued"] as const;
type Phase = (typeof phases)[number];

type Endpoint = {
  readonly path: string;
  readonly body: (text: string, maxTokens: number) => object;
  /** Matches the output of the first token. */
  readonly token: RegExp;
};

const endpoints: readonly Endpoint[] = [
  {
    path: "/api/chat",
    body: (text, maxTokens) => ({ messages: [turn(text)], options: greedy(maxTokens) }),
    token: /"content":"[^"]/u,
  },
  {
    path: "/api/generate",
    body: (prompt, maxTokens) => ({ prompt, options: greedy(maxTokens) }),
    token: /"response":"[^"]/u,
  },
  {
    path: "/v1/chat/completions",
    body: (text, maxTokens) => ({ messages: [turn(text)], max_tokens: maxTokens, temperature: 0 }),
    token: /"content":"[^"]/u,
  },
  {
    path: "/v1/messages",
    body: (text, maxTokens) => ({ messages: [turn(text)], max_tokens: maxTokens, temperature: 0 }),
    token: /"text_delta","text":"[^"]/u,
  },
];

function turn(content: string) {
  return { role: "user", content };
}

function greedy(maxTokens: number) {
  return { num_predict: maxTokens, temperature: 0 };
}

let server: TestServer;
/** How often the engine has reported that it evaluates a prompt, and the length of the longest one. */
let promptSteps = 0;
let longestPrompt = 0;
beforeAll(async () => {
  server = await startTestServer({
    models: { smol },
    driver: countPromptSteps(createLlamaDriver(await preparedWorker())),
    limits: { sequences: slots, contextTokens: 2048 },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

function countPromptSteps(driver: EngineDriver): EngineDriver {
  return {
    load: async (plan, options) => {
      const engine = await driver.load(plan, options);
      return {
        ...engine,
        async *generate(request, signal) {
          for await (const event of engine.generate(request, signal)) {
            if (event.type === "prompt-progress") {
              if (event.evaluated < event.total) promptSteps += 1;
              longestPrompt = Math.max(longestPrompt, event.total);
            }
            yield event;
          }
        },
      };
    },
  };
}

function isIdle(): boolean {
  return server.scheduler.running().every(({ leases, waiting }) => leases + waiting === 0);
}

function countQueued(): number {
  return server.scheduler.running().reduce((sum, { waiting }) => sum + waiting, 0);
}

/** Polls every millisecond, because the bounds are a few hundred. */
async function until(isDone: () => boolean, what: string): Promise<number> {
  const startedAt = performance.now();
  while (!isDone()) {
    if (performance.now() - startedAt > 60_000) throw new Error(`Not within a minute: ${what}`);
    await sleep(1);
  }
  return performance.now() - startedAt;
}

type Connection = {
  readonly hangUp: () => void;
  readonly received: () => string;
  readonly isClosed: () => boolean;
  /** How many requests were sent. */
  readonly requests: number;
};

const allConnections: Connection[] = [];

function openConnection(texts: readonly string[], way: Way): Connection {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  // The server may reset a connection whose client is gone.
  socket.on("error", () => undefined);
  for (const text of texts) socket.write(text);
  const hangUp = (): void => {
    if (way === "RST") socket.resetAndDestroy();
    // With a half-close, the client reads until the server closes its side too.
    else socket.end(() => (way === "FIN" ? socket.destroy() : undefined));
  };
  const connection = {
    hangUp,
    received: () => received,
    isClosed: () => socket.closed,
    requests: texts.length,
  };
  allConnections.push(connection);
  return connection;
}

type Case = { readonly hangUp: HangUp; readonly phase: Phase; readonly index: number };

/** All twelve combinations of hang-up and phase in turn. */
function chooseCase(index: number): Case {
  const [hangUp = "FIN", phase = "decoding"] = [
    hangUps[index % hangUps.length],
    phases[index % phases.length],
  ];
  return { hangUp, phase, index };
}

/** Which repetition of the twelve combinations it is. */
function repetitionOf(index: number): number {
  return Math.floor(index / (hangUps.length * phases.length));
}

/** Each combination gets another endpoint in the next repetition, so 48 cases contain all. */
function endpointOf(index: number): Endpoint {
  const endpoint = endpoints[(index + repetitionOf(index)) % endpoints.length];
  if (endpoint === undefined) throw new Error(`Cannot find endpoint ${index}`);
  return endpoint;
}

function requestText({ path, body }: Endpoint, text: string): string {
  const json = JSON.stringify({ model: "smol", stream: true, ...body(text, 900) });
  const head = [`POST ${path} HTTP/1.1`, "host: localhost", `content-length: ${Buffer.byteLength(json)}`];
  return [...head, "", json].join("\r\n");
}

const story = "Tell a very long story about the sea.";
let prompts = 0;

/** About 1,500 tokens whose beginning is new, so that nothing of it is cached. */
function longText(): string {
  prompts += 1;
  return `Report ${prompts}. ${"The boat left the harbour and came back with fish. ".repeat(130)}`;
}

function openCase({ hangUp, phase, index }: Case): Connection {
  const texts = Array.from({ length: hangUp === "pipelined" ? 3 : 1 }, (_none, offset) =>
    requestText(endpointOf(index + offset), phase === "prompt" ? longText() : story),
  );
  const way = hangUp === "pipelined" ? ways[repetitionOf(index) % ways.length] : hangUp;
  return openConnection(texts, way ?? "RST");
}

async function untilFirstToken(connection: Connection, index: number): Promise<void> {
  const { token } = endpointOf(index);
  await until(() => token.test(connection.received()), `a first token at ${endpointOf(index).path}`);
}

/** Opens requests that hold every slot. */
async function occupySlots(index: number): Promise<readonly Connection[]> {
  const holders = Array.from({ length: slots }, () =>
    openConnection([requestText(endpointOf(index), story)], "RST"),
  );
  for (const holder of holders) await untilFirstToken(holder, index);
  return holders;
}

type Freed = {
  /** From the hang-up until the scheduler has nothing of it any more. */
  readonly milliseconds: number;
  /** When the last client hung up. */
  readonly hungUpAt: number;
};

/** Brings a request into its phase and hangs up. */
async function hangUpAlone(chosen: Case): Promise<Freed> {
  const { phase, index } = chosen;
  const holders = phase === "queued" ? await occupySlots(index) : [];
  const connection = openCase(chosen);
  await untilPhase(connection, chosen);
  let hungUpAt = performance.now();
  connection.hangUp();
  const isFree = phase === "queued" ? () => countQueued() === 0 : isIdle;
  const milliseconds = await until(isFree, `a free slot after ${chosen.hangUp} while ${phase}`);
  if (holders.length > 0) hungUpAt = performance.now();
  for (const holder of holders) holder.hangUp();
  await until(isIdle, "free slots of the requests that occupied them");
  return { milliseconds, hungUpAt };
}

async function untilPhase(connection: Connection, { phase, index }: Case): Promise<void> {
  const { token, path } = endpointOf(index);
  // The first step is reported before it is evaluated.
  const steps = promptSteps + ((repetitionOf(index) + Math.floor(index / 48)) % 4);
  if (phase === "queued") await until(() => countQueued() === 1, "a queued request");
  else if (phase === "decoding") await untilFirstToken(connection, index);
  else await until(() => promptSteps > steps, "a step of the prompt");
  if (token.test(connection.received()) !== (phase === "decoding")) {
    throw new Error(`The request to ${path} was no longer in the phase "${phase}"`);
  }
}

/** Connections that decode, evaluate their prompt and are queued; all hang up at the same moment. */
async function hangUpTogether(wave: number): Promise<Freed> {
  const first = single + wave * waveSize;
  const connections = [openCase({ ...chooseCase(first), phase: "decoding" })];
  for (const connection of connections) await untilFirstToken(connection, first);
  // Gets the second slot. Of a pipelined connection, one request runs at a time.
  connections.push(openCase({ ...chooseCase(first + 1), phase: "prompt" }));
  for (let index = first + 2; index < first + waveSize; index += 1) {
    connections.push(openCase(chooseCase(index)));
  }
  await until(() => countQueued() === connections.length - slots, "the queued requests of a wave");
  const hungUpAt = performance.now();
  for (const connection of connections) connection.hangUp();
  return { milliseconds: await until(isIdle, "free slots after a wave"), hungUpAt };
}

type Probe = { readonly text: string; readonly firstTokenAt: number };

/** A request that is not disturbed. */
async function probe(): Promise<Probe> {
  const prompt = "Count: one, two, three, four, five,";
  const body = JSON.stringify({ model: "smol", prompt, raw: true, options: greedy(8) });
  const response = await fetch(`${server.url}/api/generate`, { method: "POST", body });
  let received = "";
  let firstTokenAt = 0;
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (received === "") firstTokenAt = performance.now();
    received += chunk;
  }
  const tokens = [...received.matchAll(/"response":"([^"]*)","done":(\w+)/gu)];
  return {
    text: tokens.map(([, text, isDone]) => (isDone === "true" ? "[done]" : text)).join(""),
    firstTokenAt,
  };
}

/** One probe for each slot, so that all must be free in the engine too. */
function probeSlots(): Promise<readonly Probe[]> {
  return Promise.all(Array.from({ length: slots }, probe));
}

async function answerOf({ path, body }: Endpoint): Promise<string> {
  const json = JSON.stringify({ model: "smol", stream: false, ...body("What is two plus two?", 12) });
  const response = await fetch(`${server.url}${path}`, { method: "POST", body: json });
  const received = await response.text();
  return `${response.status} ${/"(?:content|response|text)":"([^"]+)"/u.exec(received)?.[1]}`;
}

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}

/** Milliseconds from the hang-up until the scheduler is free, and until every slot of the engine had a new token. */
type Times = Readonly<Record<"free" | "nextToken", number[]>>;
type Results = Readonly<Record<Phase | "together", Times>>;

test("clients that hang up in any way and phase free their slots, and others get their complete responses", {
  timeout: 7_200_000,
}, async () => {
  const answers: string[] = [];
  for (const endpoint of endpoints) answers.push(await answerOf(endpoint));
  const expected = (await probeSlots()).map(({ text }) => text);
  expect(expected[0]).toMatch(/^ six, seven.*\[done\]$/u);
  const [workers, filesBefore] = [workerProcesses(), openFiles()];
  const results = createResults();
  const hangUpAndProbe = async (times: Times, hangUp: () => Promise<Freed>): Promise<void> => {
    const { milliseconds, hungUpAt } = await hangUp();
    const probes = await probeSlots();
    expect(probes.map(({ text }) => text)).toEqual(expected);
    times.free.push(milliseconds);
    times.nextToken.push(Math.max(...probes.map(({ firstTokenAt }) => firstTokenAt)) - hungUpAt);
  };
  for (let index = 0; index < single; index += 1) {
    const chosen = chooseCase(index);
    await hangUpAndProbe(results[chosen.phase], () => hangUpAlone(chosen));
  }
  for (let wave = 0; wave < waves; wave += 1) {
    await hangUpAndProbe(results.together, () => hangUpTogether(wave));
  }
  await until(() => allConnections.every(({ isClosed }) => isClosed()), "closed connections");
  expect(server.scheduler.running()).toMatchObject([{ leases: 0, waiting: 0 }]);
  expect(workerProcesses()).toEqual(workers);
  // The pool of fetch opens and closes a connection or two.
  expect(openFiles() - filesBefore).toBeLessThanOrEqual(4);
  // Status 499 is a request whose client disconnected. Those that wait behind it on its connection never start.
  const disconnected = server.logRecords().filter(({ status }) => status === 499);
  expect(disconnected).toHaveLength(allConnections.length);
  expect(allConnections.filter(({ received }) => received().includes("\r\n0\r\n\r\n"))).toEqual([]);
  for (const [index, endpoint] of endpoints.entries()) expect(await answerOf(endpoint)).toBe(answers[index]);
  checkTimes(results);
});

function createResults(): Results {
  return { decoding: createTimes(), prompt: createTimes(), queued: createTimes(), together: createTimes() };
}

function createTimes(): Times {
  return { free: [], nextToken: [] };
}

function formatSlowest({ free, nextToken }: Times): string {
  return `${Math.max(...free).toFixed(0)} ms (next token after ${Math.max(...nextToken).toFixed(0)} ms)`;
}

function checkTimes(results: Results): void {
  const requests = allConnections.reduce((sum, connection) => sum + connection.requests, 0);
  const { decoding, prompt, queued, together } = results;
  const hangUpCount = single + waves * waveSize;
  const probeCount = slots * (single + waves);
  // A next token includes the new request itself, so its bound is the wider one in every phase.
  for (const { free, nextToken } of [decoding, queued]) {
    expect(worstOf(free)).toBeLessThanOrEqual(upperBound(maxDecodeMilliseconds));
    expect(worstOf(nextToken)).toBeLessThanOrEqual(upperBound(maxPromptMilliseconds));
  }
  for (const { free, nextToken } of [prompt, together]) {
    expect(worstOf(free)).toBeLessThanOrEqual(upperBound(maxPromptMilliseconds));
    expect(worstOf(nextToken)).toBeLessThanOrEqual(upperBound(maxPromptMilliseconds));
  }
  recordFigure({
    claim: "guard 9",
    text: `M2: ${hangUpCount} of ${hangUpCount} hang-ups (FIN, RST, half-close, pipelined; ${requests} requests) left 0 leases and the same worker; slots were free after at most ${formatSlowest(decoding)} while decoding (needed ${maxDecodeMilliseconds}), ${formatSlowest(prompt)} in a prompt of ${longestPrompt} tokens (needed ${maxPromptMilliseconds}), ${formatSlowest(queued)} in the queue, ${formatSlowest(together)} for ${waves} waves of ${waveSize} at once; ${probeCount} of ${probeCount} undisturbed responses in between were complete and identical`,
    counted: { reached: hangUpCount, needed: hangUpCount },
  });
}
