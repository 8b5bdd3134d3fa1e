import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EngineClient } from "../wire/engine-client.ts";
import { ReadingSpeed } from "./prefill-speed.ts";
import { type EngineWatch, watchEngine } from "./watch-engine.ts";

let watch: EngineWatch;
let speed: ReadingSpeed;
const loop = { isComputing: true };
let hung: { readonly kind: string; readonly at: number }[];
let startedAt: number;

const slots = { status: 200, value: [{ id: 0, is_processing: true }] };

/** An engine whose loop answers nothing while it computes one batch, and then all that it was asked. */
const client: EngineClient = {
  async ask() {
    while (loop.isComputing) await new Promise((resolve) => setTimeout(resolve, 100));
    return slots;
  },
  stream: async function* () {},
  [Symbol.dispose]: () => undefined,
};

beforeEach(() => {
  vi.useFakeTimers();
  hung = [];
  speed = new ReadingSpeed();
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
const readAt = (tokensPerSecond: number): void =>
  speed.learn({ readTokens: 64, readMilliseconds: 64_000 / tokensPerSecond });

test("an engine with little to read is taken for hung after ten seconds of silence", async () => {
  watch.enter({ readTokens: speed.stepTokens(4000, true) });
  await seconds(9);
  expect(hung).toEqual([]);
  await seconds(2);
  expect(hung).toMatchObject([{ kind: "engine-hung" }]);
});

test.each([
  { name: "a step of 512 tokens at 20 tokens a second", known: 20, tokens: 512, takes: 26 },
  { name: "a batch of 2048 tokens at 51 tokens a second", known: 51, tokens: 32_768, takes: 41 },
  {
    name: "a text of 1000 tokens when nothing is known of the speed",
    known: undefined,
    tokens: 1000,
    takes: 200,
  },
])("$name may take as long as it does, and a hang is still found", async ({ known, tokens, takes }) => {
  if (known !== undefined) readAt(known);
  watch.enter({ readTokens: tokens });
  await seconds(takes);
  expect(hung).toEqual([]);
  await seconds(601);
  expect(hung).toMatchObject([{ kind: "engine-hung" }]);
});

test("what several read at once goes into one batch, as far as there are slots", async () => {
  readAt(30);
  for (let each = 0; each < 10; each += 1) watch.enter({ readTokens: 150 });
  await seconds(25);
  expect(hung).toEqual([]);
  await seconds(10);
  expect(hung).toHaveLength(1);
});

test("once something is heard of an answer its prompt excuses nothing", async () => {
  readAt(20);
  const entered = watch.enter({ readTokens: 2048 });
  await seconds(60);
  entered.heard();
  await seconds(9);
  expect(hung).toEqual([]);
  await seconds(2);
  expect(hung).toHaveLength(1);
});

test.each([
  { name: "a long text", asked: { readTokens: 2048 } },
  { name: "an image", asked: { hasImages: true } },
])("$name whose caller hung up excuses silence until the engine looks up again", async ({ asked }) => {
  readAt(60);
  watch.enter(asked).leave(false);
  watch.enter({});
  await seconds(60);
  expect(hung).toEqual([]);
  loop.isComputing = false;
  await seconds(180);
  expect(hung).toEqual([]);
  loop.isComputing = true;
  await seconds(12);
  expect(hung).toHaveLength(1);
});

test("what was answered excuses nothing any more", async () => {
  readAt(60);
  watch.enter({ readTokens: 2048 }).leave(true);
  watch.enter({});
  await seconds(11);
  expect(hung).toHaveLength(1);
});

test("nobody is killed while nobody waits", async () => {
  watch.enter({}).leave(false);
  await seconds(3600);
  expect(hung).toEqual([]);
});
