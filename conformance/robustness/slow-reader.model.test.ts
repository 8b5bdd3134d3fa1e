import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { preparePython, startProcess } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const chunk = "All work and no play makes a dull reader. ".repeat(25);
const endless = 100_000_000;
const maxGrowthMegabytes = 50;
/** Far more than the buffers hold, so that the engine has continued. */
const readBytes = chooseSize({ ci: 10_000_000, show: 50_000_000, nightly: 50_000_000 });
const turn = { role: "user", content: "Talk for ever" };

const endpoints: readonly (readonly [path: string, body: object])[] = [
  ["/api/generate", { prompt: "Talk for ever", options: { num_predict: endless } }],
  ["/api/chat", { messages: [turn], options: { num_predict: endless } }],
  ["/v1/chat/completions", { messages: [turn], stream: true }],
  ["/v1/completions", { prompt: "Talk for ever", stream: true, max_tokens: endless }],
  ["/v1/responses", { input: "Talk for ever", stream: true }],
  ["/v1/messages", { messages: [turn], stream: true, max_tokens: endless }],
];

/** Opens a stream without reading from it. */
function openUnread(url: string, body: object): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(url, { method: "POST", agent: false }, resolve);
  outgoing.once("error", reject);
  outgoing.end(JSON.stringify({ model: "tiny", ...body }));
  return promise;
}

/** Waits until the buffers of both ends are full, which takes longer on a busy machine. */
async function untilPaused(count: () => number): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (let last = -1; last !== count() && performance.now() < deadline; ) {
    last = count();
    await sleep(700);
  }
}

test("a client that stops reading pauses the engine without growing memory, and continues where it stopped", {
  timeout: 180_000,
}, async () => {
  let written = 0;
  await using server = await startTestServer({
    models: { tiny },
    script: function* () {
      // The pause lets other work of this process run.
      for (;;) {
        written += 1;
        yield { do: "write", text: chunk };
        if (written % 64 === 0) yield { do: "wait", milliseconds: 1 };
      }
    },
    limits: { sequences: endpoints.length },
  });
  const paused: string[] = [];
  let growth = 0;
  for (const [path, body] of endpoints) {
    const stream = await openUnread(`${server.url}${path}`, body);
    await untilPaused(() => written);
    const [before, bytesBefore] = [written, process.memoryUsage().rss];
    await sleep(1000);
    expect([path, written - before]).toEqual([path, 0]);
    growth = Math.max(growth, (process.memoryUsage().rss - bytesBefore) / 1024 ** 2);
    // Once the stream is read, the engine continues.
    let read = 0;
    stream.on("data", (received: Buffer) => {
      read += received.length;
    });
    await expect.poll(() => read > readBytes && written > before, { timeout: 20_000 }).toBe(true);
    stream.destroy();
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases ?? 0).toBe(0);
    paused.push(path);
  }
  expect(growth).toBeLessThan(maxGrowthMegabytes);
  recordFigure({
    claim: "families 15",
    text: `${paused.length} of ${endpoints.length} kinds of streams pause the engine while nothing is read and continue afterwards, memory grew ${growth.toFixed(1)} MB (at most ${maxGrowthMegabytes})`,
    counted: { reached: paused.length, needed: endpoints.length },
  });
});

test("readers that stop reading hold their slots only until somebody else waits for one", {
  timeout: 120_000,
}, async () => {
  let written = 0;
  await using server = await startTestServer({
    models: { tiny },
    script: function* ({ input }) {
      const chunks = input.type === "raw" && input.prompt.includes("short") ? 0 : endless;
      for (let index = 0; index < chunks; index += 1) {
        written += 1;
        yield { do: "write", text: chunk };
        if (written % 64 === 0) yield { do: "wait", milliseconds: 1 };
      }
      yield { do: "write", text: "done" };
      yield { do: "end", reason: "stop" };
    },
    limits: { sequences: 8 },
  });
  const stalled = await Promise.all(
    Array.from({ length: 8 }, () =>
      openUnread(`${server.url}/api/generate`, {
        prompt: "Talk for ever",
        raw: true,
        options: { num_predict: endless },
      }),
    ),
  );
  await untilPaused(() => written);
  expect(server.scheduler.queueLengths()[0]?.leases).toBe(8);
  const startedAt = performance.now();
  const body = JSON.stringify({ model: "tiny", prompt: "short", raw: true, stream: false });
  const response = await fetch(`${server.url}/api/generate`, { method: "POST", body });
  expect(await response.json()).toMatchObject({ response: "done", done: true });
  expect(performance.now() - startedAt).toBeLessThan(hasLooseTimingBounds ? 15_000 : 2000);
  for (const stream of stalled) stream.destroy();
  await expect.poll(() => server.scheduler.queueLengths()[0]?.leases ?? 0).toBe(0);
});

/** Bytes that the kernel holds for connections to a port, sent but not read. */
function unreadBytes(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const sockets = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return sockets
    .map((line) => line.trim().split(/\s+/u))
    .filter(([, local = "", remote = ""]) => local.endsWith(`:${port}`) || remote.endsWith(`:${port}`))
    .flatMap(([, , , , queues = ""]) => queues.split(":"))
    .reduce((sum, bytes) => sum + Number.parseInt(bytes, 16), 0);
}

async function isStalled(url: string): Promise<boolean> {
  const before = unreadBytes(url);
  await sleep(1500);
  return before > 0 && unreadBytes(url) === before;
}

function bodyOf(tokens: number, extra: object): string {
  return JSON.stringify({
    model: "model",
    prompt: "Count to a thousand: 1, 2, 3",
    raw: true,
    options: { num_predict: tokens, temperature: 0 },
    ...extra,
  });
}

test("eight readers of a real engine that stop reading delay a newcomer by no more than two seconds", {
  timeout: 600_000,
}, async () => {
  const readers = 8;
  await using server = await startTestServer({
    models: { model: chooseSize({ ci: tiny, show: smol, nightly: smol }) },
    limits: { sequences: readers, contextTokens: 4096 },
  });
  const generate = async (tokens: number): Promise<unknown> => {
    const body = bodyOf(tokens, { stream: false });
    return (await fetch(`${server.url}/api/generate`, { method: "POST", body })).json();
  };
  expect(await generate(1)).toMatchObject({ done: true });
  const memoryBefore = process.memoryUsage().rss;
  const { interpreter } = await preparePython();
  await using stalled = await startProcess({
    command: interpreter,
    // Alternatives make each token longer, so that the buffers are full sooner.
    arguments: [
      join(import.meta.dirname, "stop-reading.py"),
      new URL(server.url).port,
      String(readers),
      bodyOf(4000, { logprobs: true, top_logprobs: 5 }),
    ],
    isReady: (output) => output.includes("open"),
  });
  await expect.poll(() => server.scheduler.queueLengths()[0]?.leases).toBe(readers);
  await expect.poll(() => isStalled(server.url), { timeout: 300_000 }).toBe(true);
  const leases = server.scheduler.queueLengths()[0]?.leases ?? 0;
  const growth = (process.memoryUsage().rss - memoryBefore) / 1024 ** 2;
  const startedAt = performance.now();
  expect(await generate(4)).toMatchObject({ done: true, eval_count: 4 });
  const seconds = (performance.now() - startedAt) / 1000;
  await stalled.stop();
  recordFigure({
    claim: "guard 4",
    text: `a newcomer had its response after ${seconds.toFixed(2)} s (at most 2) beside ${leases} of ${readers} readers that stopped reading; memory grew ${growth.toFixed(0)} MB (at most ${maxGrowthMegabytes})`,
    counted: { reached: leases, needed: readers },
  });
  expect(seconds).toBeLessThan(hasLooseTimingBounds ? 15 : 2);
  expect(growth).toBeLessThan(maxGrowthMegabytes);
});
