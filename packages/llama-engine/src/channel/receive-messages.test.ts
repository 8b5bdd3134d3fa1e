import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { writeFrame } from "./frames.ts";
import type { FromWorker } from "./messages.ts";
import { receiveMessages } from "./receive-messages.ts";

const heartbeat: FromWorker = { type: "heartbeat", threads: 1, samplingSeconds: 0 };
const end: FromWorker = {
  type: "events",
  id: 1,
  events: [
    { type: "text-delta", text: "a", tokens: [] },
    {
      type: "generation-end",
      reason: "stop",
      usage: { promptTokens: 1, cachedTokens: 0, outputTokens: 1 },
      timings: { promptMilliseconds: 1, outputMilliseconds: 1 },
    },
  ],
};

function open() {
  const stream = new PassThrough({ highWaterMark: 256 * 1024 * 1024 });
  const messages: FromWorker[] = [];
  const reasons: string[] = [];
  receiveMessages(stream, {
    onMessage: (message) => messages.push(message),
    onInvalid: (reason) => reasons.push(reason),
  });
  return { stream, messages, reasons };
}

async function write(content: Buffer | FromWorker): Promise<ReturnType<typeof open>> {
  const opened = open();
  if (Buffer.isBuffer(content)) opened.stream.write(content);
  else writeFrame(opened.stream, Buffer.from(JSON.stringify(content)));
  await nextTurn();
  return opened;
}

test("messages of a worker arrive as it sent them", async () => {
  for (const message of [
    heartbeat,
    end,
    { type: "result", id: 3, value: [1, 2] },
    { type: "failure", id: 4, failure: { kind: "not-supported", feature: "ranking" } },
  ] satisfies FromWorker[]) {
    expect((await write(message)).messages).toEqual([message]);
  }
});

test.each([
  ["bytes that are no frame", Buffer.from("garbage bytes"), "frame too long"],
  ["a length of 800 MB", Buffer.from([0, 8, 175, 47]), "frame too long"],
  ["text that is not JSON", frame("{"), "message is not JSON"],
  ["a message of no known type", frame('{"type":"exit"}'), "unknown message"],
  [
    "a negative number of tokens, which metrics cannot count",
    frame(JSON.stringify(end).replace('"outputTokens":1', '"outputTokens":-1')),
    "unknown message",
  ],
  [
    "a failure that only the server may report",
    frame('{"type":"failure","id":1,"failure":{"kind":"engine-hung","seconds":1}}'),
    "unknown message",
  ],
  ["an infinite number", frame('{"type":"heartbeat","samplingSeconds":1e999}'), "unknown message"],
  [
    "nested arrays",
    frame(`{"type":"result","id":1,"value":${"[".repeat(5000)}${"]".repeat(5000)}}`),
    "message too complex",
  ],
])("%s ends the channel and nothing else", async (_name, bytes, reason) => {
  const { stream, messages, reasons } = await write(bytes);
  expect(reasons).toEqual([reason]);
  stream.write(frame(JSON.stringify(heartbeat)));
  await nextTurn();
  expect(messages).toEqual([]);
});

test("a worker that floods the server is cut off", async () => {
  const opened = open();
  const one = frame(JSON.stringify(heartbeat));
  opened.stream.write(Buffer.concat(Array.from({ length: 100_000 }, () => one)));
  await expect.poll(() => opened.reasons).toEqual(["too many messages"]);
  expect(opened.messages.length).toBeLessThanOrEqual(40_000);
});

test("no fuzzed frame throws, and every valid message after a valid one arrives", async () => {
  const runs = 10_000;
  const valid = frame(JSON.stringify(end));
  const mutated = fc
    .tuple(fc.nat(valid.length - 1), fc.uint8Array({ minLength: 1, maxLength: 12 }), fc.boolean())
    .map(([at, bytes, isInserted]) =>
      Buffer.concat([valid.subarray(0, at), bytes, valid.subarray(isInserted ? at : at + bytes.length)]),
    );
  const anyFrame = fc.oneof(
    mutated,
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.json({ maxDepth: 3 }).map(frame),
  );
  let rejected = 0;
  await fc.assert(
    fc.asyncProperty(anyFrame, async (bytes) => {
      const opened = await write(heartbeat);
      opened.stream.write(bytes);
      await nextTurn();
      expect(opened.messages[0]).toEqual(heartbeat);
      expect(opened.reasons.length).toBeLessThanOrEqual(1);
      rejected += opened.reasons.length;
    }),
    { seed: 5, numRuns: runs },
  );
  expect(rejected).toBeGreaterThan(runs / 4);
});

function frame(text: string): Buffer {
  const content = Buffer.from(text);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32LE(content.length);
  return Buffer.concat([prefix, content]);
}
