import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const piece = "All work and no play makes a dull reader. ".repeat(25);
const endless = 100_000_000;
const mostGrowthMegabytes = 50;
const turn = { role: "user", content: "Talk for ever" };

const doors: readonly (readonly [path: string, body: object])[] = [
  ["/api/generate", { prompt: "Talk for ever", options: { num_predict: endless } }],
  ["/api/chat", { messages: [turn], options: { num_predict: endless } }],
  ["/v1/chat/completions", { messages: [turn], stream: true }],
  ["/v1/completions", { prompt: "Talk for ever", stream: true, max_tokens: endless }],
  ["/v1/responses", { input: "Talk for ever", stream: true }],
  ["/v1/messages", { messages: [turn], stream: true, max_tokens: endless }],
];

/** Opens a stream and reads nothing of it. */
function openUnread(url: string, body: object): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(url, { method: "POST", agent: false }, resolve);
  outgoing.once("error", reject);
  outgoing.end(JSON.stringify({ model: "tiny", ...body }));
  return promise;
}

/** The buffers of both ends fill first, which takes as long as the machine is busy. */
async function untilStill(count: () => number): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (let last = -1; last !== count() && performance.now() < deadline; ) {
    last = count();
    await sleep(700);
  }
}

test("a reader that stops reading holds the engine back, fills no memory, and goes on where it stopped", {
  timeout: 180_000,
}, async () => {
  let said = 0;
  await using server = await startTestServer({
    models: { tiny },
    script: function* () {
      // The pause lets everything else in this process have its turn.
      for (;;) {
        said += 1;
        yield { do: "write", text: piece };
        if (said % 64 === 0) yield { do: "wait", milliseconds: 1 };
      }
    },
    limits: { sequences: doors.length },
  });
  const held: string[] = [];
  let growth = 0;
  for (const [path, body] of doors) {
    const stream = await openUnread(`${server.url}${path}`, body);
    await untilStill(() => said);
    const [before, bytesBefore] = [said, process.memoryUsage().rss];
    await sleep(1000);
    expect([path, said - before]).toEqual([path, 0]);
    growth = Math.max(growth, (process.memoryUsage().rss - bytesBefore) / 1024 ** 2);
    // The twin: once it is read, the engine goes on.
    let read = 0;
    stream.on("data", (chunk: Buffer) => {
      read += chunk.length;
    });
    await expect.poll(() => read > 50_000_000 && said > before, { timeout: 20_000 }).toBe(true);
    stream.destroy();
    await expect.poll(() => server.scheduler.queueLengths()[0]?.leases ?? 0).toBe(0);
    held.push(path);
  }
  expect(growth).toBeLessThan(mostGrowthMegabytes);
  recordFigure({
    claim: "families 15",
    text: `${held.length} of ${doors.length} kinds of streams hold the engine back while nobody reads, memory grew ${growth.toFixed(1)} MB (most ${mostGrowthMegabytes}), and go on when somebody does`,
    counted: { reached: held.length, needed: doors.length },
  });
});
