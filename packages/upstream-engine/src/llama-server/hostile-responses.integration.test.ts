import type { Engine } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type FakeProgram, startFakeProgram } from "./test/fake-program.ts";

const responses = chooseSize({ ci: 12, show: 400, nightly: 10_000 });
const maxSeconds = 20;
const maxGrowthMegabytes = 60;

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(null, "1", [], 1e308));
const text = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.integer({ min: 1, max: 100_000 }).map((length) => "x".repeat(length)),
  fc.constantFrom("\u0000", "\ud800", "data: [DONE]\n\n"),
);
/** Known fields with absurd values, and anything else. */
const event = fc.oneof(
  fc.record({
    content: fc.oneof(text, number),
    tokens: fc.array(number, { maxLength: 20 }),
    tokens_predicted: number,
  }),
  fc.record({
    stop: fc.oneof(fc.boolean(), number),
    stop_type: fc.oneof(fc.constantFrom("limit", "eos", "word"), text),
    tokens_predicted: number,
    timings: fc.record({ cache_n: number, prompt_n: number, prompt_ms: number }),
  }),
  fc.record({ error: fc.oneof(text, fc.record({ message: text, type: text, code: number })) }),
  fc.jsonValue({ maxDepth: 4 }),
);
const events = fc
  .array(event, { maxLength: 12 })
  .map((list) => list.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(""));
const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const response = fc.oneof(
  events.map((body) => Buffer.from(head + body)),
  // Altered anywhere, the head included.
  fc.tuple(events, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 12 })).map(([body, at, bytes]) => {
    const altered = Buffer.from(head + body);
    altered.set(bytes, at % Math.max(1, altered.length - bytes.length));
    return altered;
  }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    Buffer.from(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(50_000)}\r\n`),
    Buffer.from("HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000)),
    Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx"),
    Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\nx"),
    Buffer.from(`${head}data: ${"[".repeat(100_000)}\n\n`),
    Buffer.from(`${head}data: ${"x".repeat(20_000_000)}`),
  ),
);

/** Whether the generation ended normally; a failure is as good, silence is not. */
async function generate(engine: Engine): Promise<boolean> {
  const request = {
    input: { type: "raw", prompt: "Hello" },
    sampling: greedySampling,
    maxTokens: 8,
    cachePartition: "one",
  } as const;
  const silence = AbortSignal.timeout(maxSeconds * 1000);
  let hasEnded = false;
  try {
    for await (const each of engine.generate(request, silence)) hasEnded ||= each.type === "generation-end";
  } catch (error) {
    if (silence.aborted) throw new Error(`No response within ${maxSeconds} s`, { cause: error });
  }
  return hasEnded;
}

type Model = { readonly engine: Engine; hasExited(): boolean };

async function load(program: FakeProgram): Promise<Model> {
  const engine = await program.load(AbortSignal.timeout(20_000));
  let hasExited = false;
  void engine.closed.finally(() => {
    hasExited = true;
  });
  return { engine, hasExited: () => hasExited };
}

test("whatever a spawned engine responds, each request ends, memory stays bounded, and the model works again", async () => {
  await using program = await startFakeProgram({});
  let model = await load(program);
  expect(await generate(model.engine)).toBe(true);
  const before = process.memoryUsage().rss;
  const counts = { sent: 0, ended: 0, loads: 1 };
  for (const bytes of fc.sample(response, { seed: 7, numRuns: responses })) {
    await program.setCompletion(bytes);
    counts.ended += Number(await generate(model.engine));
    counts.sent += 1;
    if (!model.hasExited()) continue;
    await program.setCompletion(undefined);
    model = await load(program);
    counts.loads += 1;
  }
  await model.engine.unload();
  model = await load(program);
  await program.setCompletion(undefined);
  expect(await generate(model.engine)).toBe(true);
  await model.engine.unload();
  const growth = (process.memoryUsage().rss - before) / 1e6;
  expect(counts.ended).toBeGreaterThan(0);
  expect(counts.ended).toBeLessThan(counts.sent);
  expect(growth).toBeLessThan(maxGrowthMegabytes);
  recordFigure({
    claim: "guard 2",
    text: `${counts.sent} of ${responses} hostile responses of a spawned engine: ${counts.sent - counts.ended} failed their own request, ${counts.loads} loads, memory ${Math.round(growth)} MB more`,
    counted: { reached: counts.sent, needed: responses },
  });
}, 3_600_000);
