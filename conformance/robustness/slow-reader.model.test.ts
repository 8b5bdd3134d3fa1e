import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const chunk = "All work and no play makes a dull reader. ".repeat(25);
const endless = 100_000_000;
const maxGrowthMegabytes = 50;
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
    await expect.poll(() => read > 50_000_000 && written > before, { timeout: 20_000 }).toBe(true);
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
