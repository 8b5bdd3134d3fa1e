import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, hasLooseTimingBounds, recordFigure, scale } from "@hearth-and-keep/figures";
import { readProcessFile } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol } from "../../apps/hearth/src/test/start-test-server.ts";
import { percentile, upperBound } from "../../bench/rounds.ts";
import { SlowClients, type SlowCounts, type SlowKind, slowKinds } from "./slow-clients.ts";
import { startRealEngineServer } from "./start-real-engine-server.ts";

/** As many idle connections as the goal says, if this process and the server may open so many files. */
const maxIdle = Math.min(5000, countAllowedFiles() - 3000);
const counts: SlowCounts = chooseSize({
  ci: { idle: 200, "slow headers": 100, "slow body": 100, "slow reader": 20 },
  show: { idle: maxIdle, "slow headers": 1000, "slow body": 1000, "slow reader": 100 },
  nightly: { idle: maxIdle, "slow headers": 1000, "slow body": 1000, "slow reader": 100 },
});
const rounds = chooseSize({ ci: 2, show: 5, nightly: 10 });
const requestsPerBlock = chooseSize({ ci: 40, show: 100, nightly: 200 });
const maxRatio = 2;
/** A megabyte for each slow reader, 50 kB for every other connection, and some for the requests themselves. */
const maxGrowthMegabytes =
  counts["slow reader"] + (counts.idle + counts["slow headers"] + counts["slow body"]) / 20 + 30;
/** The server's limit for headers, and the interval at which Node looks for connections beyond it. */
const maxHeaderSeconds = hasLooseTimingBounds ? 20 : 11.5;
/** A client on a bad line may take so long. */
const minSeconds = 5;
/** The server's limit for a body that arrives slowly. */
const maxBodySeconds = 300;

function countAllowedFiles(): number {
  return Number(/^Max open files\s+(\d+)/mu.exec(readProcessFile(process.pid, "limits"))?.[1] ?? 0);
}

/** A client with a connection of its own for one streaming request; returns when the first byte of the response came. */
async function timeFirstByte(url: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  const options = { num_predict: 2, temperature: 0 };
  const body = JSON.stringify({ model: "smol", prompt: "Count: one, two, three,", raw: true, options });
  let first = Number.NaN;
  let text = "";
  const sent = request(`${url}/api/generate`, { method: "POST", agent: false }, (response) => {
    response.on("data", (chunk: Buffer) => {
      if (text === "") first = performance.now() - startedAt;
      text += chunk.toString();
    });
    response.once("end", () => {
      if (text.includes('"done":true')) resolve(first);
      else reject(new Error(`Not complete: ${response.statusCode} ${text}`));
    });
  });
  sent.once("error", reject).end(body);
  return promise;
}

async function timeBlock(url: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < requestsPerBlock; index += 1) times.push(await timeFirstByte(url));
  return times;
}

/** A client on a bad line, whose headers and body take three seconds each; returns the beginning of its response. */
async function sendInPieces(url: string): Promise<string> {
  const body = JSON.stringify({ model: "smol", prompt: "Hello", stream: false, options: { num_predict: 2 } });
  const head = `POST /api/generate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  for (const text of [head, body]) {
    const size = Math.ceil(text.length / 10);
    for (let start = 0; start < text.length; start += size) {
      socket.write(text.slice(start, start + size));
      await sleep(300);
    }
  }
  await expect.poll(() => socket.closed).toBe(true);
  return received;
}

type Times = Readonly<Record<"quiet" | "attacked", number[]>>;

/** Alternates blocks of requests without and with slow clients, whose last ones are returned, still connected. */
async function compareTimes(url: string, times: Times): Promise<SlowClients> {
  for (let round = 1; ; round += 1) {
    times.quiet.push(...(await timeBlock(url)));
    const clients = await SlowClients.open(url, counts);
    times.attacked.push(...(await timeBlock(url)));
    if (round === rounds) return clients;
    clients[Symbol.dispose]();
  }
}

/** Waits until the server has closed all connections of a kind, and returns after how many seconds the last one was. */
async function untilClosed(clients: SlowClients, kind: SlowKind, maxSeconds: number): Promise<number> {
  await expect
    .poll(() => clients.countOpen(kind), { timeout: (maxSeconds + 5) * 1000, interval: 200 })
    .toBe(0);
  const seconds = clients.secondsOpen(kind);
  expect(clients.statusLines(kind)).toEqual(["HTTP/1.1 408 Request Timeout"]);
  expect(Math.min(...seconds)).toBeGreaterThan(minSeconds);
  expect(Math.max(...seconds)).toBeLessThanOrEqual(maxSeconds);
  return Math.max(...seconds);
}

test("slow headers, slow bodies, slow readers and idle connections delay nobody else, and are closed", {
  timeout: 1_800_000,
}, async () => {
  await using server = await startRealEngineServer({ models: { smol }, limits: { contextTokens: 512 } });
  await timeBlock(server.url);
  const before = await server.measureMegabytes();
  const times: Times = { quiet: [], attacked: [] };
  using clients = await compareTimes(server.url, times);
  const growth = (await server.measureMegabytes()) - before;
  const pieces = sendInPieces(server.url);
  const closed = {
    idle: await untilClosed(clients, "idle", maxHeaderSeconds),
    headers: await untilClosed(clients, "slow headers", maxHeaderSeconds),
    body: scale === "nightly" ? await untilClosed(clients, "slow body", maxBodySeconds) : undefined,
  };
  expect(await pieces).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"eval_count":2/su);
  const [quiet, attacked] = [percentile(times.quiet, 0.99), percentile(times.attacked, 0.99)];
  const ratio = attacked / quiet;
  const connections = slowKinds.reduce((sum, kind) => sum + counts[kind], 0);
  const text = `M4: ${slowKinds.map((kind) => `${counts[kind]} ${kind}`).join(", ")}: p99 of the first byte of another client ${attacked.toFixed(0)} ms in ${times.attacked.length} requests, ${ratio.toFixed(2)} times its ${quiet.toFixed(0)} ms in ${times.quiet.length} requests in between (needed ${maxRatio}); idle connections were closed after ${closed.idle.toFixed(1)} s and slow headers after ${closed.headers.toFixed(1)} s (at most ${maxHeaderSeconds}), slow bodies ${closed.body === undefined ? "were not waited for" : `after ${closed.body.toFixed(1)} s`} (at most ${maxBodySeconds}); memory grew ${growth.toFixed(1)} MB (at most ${maxGrowthMegabytes}); headers and a body in pieces were accepted`;
  process.stdout.write(`${text}\n`);
  expect(ratio).toBeLessThan(upperBound(maxRatio));
  expect(growth).toBeLessThan(maxGrowthMegabytes);
  expect(server.isRunning()).toBe(true);
  recordFigure({ claim: "guard 9", text, counted: { reached: connections, needed: connections } });
});
