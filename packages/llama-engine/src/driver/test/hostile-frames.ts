import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { receiveMessages } from "../../channel/receive-messages.ts";

/** The real worker, which also writes the hostile frames of the number in the file "seed" beside it. */
export const hijackedWorkerProgram: string = fileURLToPath(
  new URL("../fixtures/hijacked-worker.ts", import.meta.url),
);
const hostileFramesPerSeed = 10;

/** Most are valid messages at the wrong time or with absurd values, because these get furthest into the server. */
export function createHostileFrames(seed: number): readonly Buffer[] {
  return fc.sample(hostileFrame, { seed, numRuns: hostileFramesPerSeed });
}

/** How many of the frames a server examines: all of them, or up to the first that ends the channel. */
export async function countExaminedFrames(
  frames: readonly Buffer[],
): Promise<{ readonly examined: number; readonly isFatal: boolean }> {
  const stream = new PassThrough({ highWaterMark: 256 * 1024 * 1024 });
  let [examined, isFatal] = [0, false];
  receiveMessages(stream, { onMessage: () => (examined += 1), onInvalid: () => (isFatal = true) });
  for (const frame of frames) stream.write(frame);
  await nextTurn();
  return { examined: examined + Number(isFatal), isFatal };
}

const id = fc.oneof(fc.integer({ min: -2, max: 40 }), fc.constantFrom(2 ** 53, -(2 ** 53), 1e15));
const number = fc.oneof(
  fc.integer(),
  fc.double({ min: -(2 ** 53), max: 2 ** 53, noNaN: true }),
  fc.constantFrom(0, -1, 2 ** 53),
);
const count = fc.oneof(fc.nat(), fc.constantFrom(0, 2 ** 53));
const duration = fc.double({ min: 0, max: 2 ** 53, noNaN: true });
const text = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.integer({ min: 1, max: 300_000 }).map((length) => "x".repeat(length)),
  fc.constantFrom(
    "</script>",
    "\u0000",
    "\ud800",
    "data: [DONE]\n\n",
    '{"error":',
    "\r\nHTTP/1.1 200 OK\r\n\r\n",
  ),
);

const event = fc.oneof(
  fc.record({ type: fc.constant("text-delta"), text, outputTokens: count }),
  fc.record({ type: fc.constant("prompt-progress"), evaluated: count, total: count, cached: count }),
  fc.record({
    type: fc.constant("generation-end"),
    reason: fc.constantFrom("stop", "length"),
    usage: fc.record({ promptTokens: count, cachedTokens: count, outputTokens: count }),
    timings: fc.record({ promptMilliseconds: duration, outputMilliseconds: duration }),
  }),
);

const failure = fc.oneof(
  fc.record({ kind: fc.constantFrom("model-invalid", "template-failed", "grammar-invalid"), reason: text }),
  fc.record({ kind: fc.constant("prompt-too-long"), promptTokens: count, contextTokens: count }),
  fc.record({ kind: fc.constant("not-supported"), feature: fc.string({ maxLength: 50 }) }),
);

const message = fc.oneof(
  fc.record({ type: fc.constant("events"), id, events: fc.array(event, { maxLength: 20 }) }),
  fc.record({ type: fc.constant("result"), id, value: fc.jsonValue({ maxDepth: 4 }) }),
  fc.record({ type: fc.constant("failure"), id, failure }),
  fc.record({ type: fc.constant("error"), id, reason: text }),
  fc.record({ type: fc.constant("load-progress"), fraction: number }),
  fc.record({
    type: fc.constant("heartbeat"),
    threads: count,
    samplingSeconds: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
);

/** What ends the channel: no frame, no JSON, an unknown or altered message, a length beyond the limit. */
const invalid = fc.oneof(
  message.map((valid) => toFrame(JSON.stringify(valid).replaceAll(/Tokens":(?=\d)/gu, 'Tokens":-'))),
  fc.uint8Array({ minLength: 4, maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  fc.json({ maxDepth: 5 }).map((json) => toFrame(json)),
  fc.tuple(message, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 8 })).map(([valid, at, bytes]) => {
    const frame = toFrame(JSON.stringify(valid));
    frame.set(bytes.slice(0, frame.length), at % Math.max(1, frame.length - bytes.length));
    return frame;
  }),
  fc.constantFrom(
    toFrame("[".repeat(20_000)),
    Buffer.from([255, 255, 255, 255]),
    toFrame('{"__proto__":{}}'),
  ),
);

const hostileFrame = fc.oneof(
  { weight: 40, arbitrary: message.map((valid) => toFrame(JSON.stringify(valid))) },
  { weight: 1, arbitrary: invalid },
);

function toFrame(json: string): Buffer {
  const content = Buffer.from(json);
  const frame = Buffer.alloc(4 + content.length);
  frame.writeUInt32LE(content.length);
  frame.set(content, 4);
  return frame;
}
