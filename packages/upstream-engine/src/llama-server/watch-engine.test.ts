import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EngineClient } from "../wire/engine-client.ts";
import { PrefillSpeed } from "./prefill-speed.ts";
import { type EngineWatch, watchEngine, watchMedia } from "./watch-engine.ts";

const noBytes = new Uint8Array();

let watch: EngineWatch;
let speed: PrefillSpeed;
const loop = { isComputing: true };
let hung: { readonly kind: string; readonly at: number }[];
let startedAt: number;

const slots = { status: 200, value: [{ id: 0, is_processing: true }] };

/** An engine whose compute loop does not respond during a batch and then serves all pending requests. */
const client: EngineClient = {
  async request() {
    while (loop.isComputing) await new Promise((resolve) => setTimeout(resolve, 100));
    return slots;
  },
  stream: async function* () {},
  [Symbol.dispose]: () => undefined,
};

beforeEach(() => {
  vi.useFakeTimers();
  hung = [];
  speed = new PrefillSpeed();
  loop.isComputing = true;
  startedAt = performance.now();
  watch = watchEngine({
    client,
    start: { slots: 2, batchTokens: 2048 },
    speed,
    onHung({ kind }) {
      hung.push({ kind, at: (performance.now() - startedAt) / 1000 });
      watch.stop();
    },
  });
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1000);
const recordSpeed = (tokensPerSecond: number): void =>
  speed.record({ readTokens: 64, readMilliseconds: 64_000 / tokensPerSecond });

test("an engine with a short prompt counts as hung after ten seconds of silence", async () => {
  watch.track({ readTokens: speed.stepTokens(4000, true) });
  await seconds(9);
  expect(hung).toEqual([]);
  await seconds(2);
  expect(hung).toMatchObject([{ kind: "engine-hung" }]);
});

test.each([
  { name: "a step of 512 tokens at 20 tokens per second", tokensPerSecond: 20, tokens: 512, takes: 26 },
  { name: "a batch of 2048 tokens at 51 tokens per second", tokensPerSecond: 51, tokens: 32_768, takes: 41 },
  {
    name: "a text of 1000 tokens at an unknown speed",
    tokensPerSecond: undefined,
    tokens: 1000,
    takes: 200,
  },
])("$name is given enough time, and a hang is still detected", async ({ tokensPerSecond, tokens, takes }) => {
  if (tokensPerSecond !== undefined) recordSpeed(tokensPerSecond);
  watch.track({ readTokens: tokens });
  await seconds(takes);
  expect(hung).toEqual([]);
  await seconds(601);
  expect(hung).toMatchObject([{ kind: "engine-hung" }]);
});

test("prompts of concurrent requests share a batch, limited by the number of slots", async () => {
  recordSpeed(30);
  for (let each = 0; each < 10; each += 1) watch.track({ readTokens: 150 });
  await seconds(25);
  expect(hung).toEqual([]);
  await seconds(10);
  expect(hung).toHaveLength(1);
});

test("after the first output of a request, its prompt no longer extends the timeout", async () => {
  recordSpeed(20);
  const tracked = watch.track({ readTokens: 2048 });
  await seconds(60);
  tracked.progressed();
  await seconds(9);
  expect(hung).toEqual([]);
  await seconds(2);
  expect(hung).toHaveLength(1);
});

test.each([
  { name: "a long text", request: { readTokens: 2048 } },
  { name: "an image", request: { media: watchMedia([{ bytes: noBytes, mediaType: "image/png" }]) } },
  {
    name: "a short sound",
    request: { media: watchMedia([{ bytes: noBytes, mediaType: "audio/wav", seconds: 1 }]) },
  },
])(
  "$name whose client disconnected extends the timeout until the engine makes progress",
  async ({ request }) => {
    recordSpeed(60);
    watch.track(request).finish(false);
    watch.track({});
    await seconds(60);
    expect(hung).toEqual([]);
    loop.isComputing = false;
    await seconds(180);
    expect(hung).toEqual([]);
    loop.isComputing = true;
    await seconds(12);
    expect(hung).toHaveLength(1);
  },
);

test("a completed request no longer extends the timeout", async () => {
  recordSpeed(60);
  watch.track({ readTokens: 2048 }).finish(true);
  watch.track({});
  await seconds(11);
  expect(hung).toHaveLength(1);
});

test("an idle engine is never killed", async () => {
  watch.track({}).finish(false);
  await seconds(3600);
  expect(hung).toEqual([]);
});
