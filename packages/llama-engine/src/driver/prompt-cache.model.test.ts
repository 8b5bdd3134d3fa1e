import { ftruncateSync, readSync, writeSync } from "node:fs";
import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";
import type { OfferedState, PromptStore, StateOwner, StateQuery } from "./prompt-exchange.ts";

const never = new AbortController().signal;
const story = "Once upon a time a keeper wrote down every ship. ".repeat(40);

/** States in memory, as the server's cache offers them. */
class MemoryStore implements PromptStore {
  readonly maxStateBytes: number;
  readonly kept: { readonly owner: StateOwner; readonly tokens: readonly number[]; content: Buffer }[] = [];
  discarded = 0;

  constructor(maxStateBytes = 64 * 1024 * 1024) {
    this.maxStateBytes = maxStateBytes;
  }

  find({ partition, model }: StateOwner, { file }: StateQuery) {
    const found = this.kept.findLast(({ owner }) => owner.partition === partition && owner.model === model);
    if (found === undefined) return Promise.resolve(undefined);
    ftruncateSync(file, 0);
    writeSync(file, found.content, 0, found.content.length, 0);
    const discard = (): Promise<void> => Promise.resolve(void (this.discarded += 1));
    return Promise.resolve({ bytes: found.content.length, discard });
  }

  keep(owner: StateOwner, { tokens, bytes, file }: OfferedState): Promise<void> {
    const content = Buffer.alloc(bytes);
    readSync(file, content, 0, bytes, 0);
    this.kept.push({ owner, tokens, content });
    return Promise.resolve();
  }
}

type Loading = { readonly sequences?: number; readonly contextTokens?: number };

async function load(promptStore: PromptStore, shape: Loading = {}): Promise<Engine> {
  const modelPath = await testModel("tiny-llama.gguf");
  const plan = { contextTokens: 2048, sequences: 2, threads: 1, gpuLayers: 0, purpose: "generate" } as const;
  const driver = createLlamaDriver({ promptStore, ...(await preparedWorker()) });
  return driver.load({ ...plan, ...shape, modelPath }, { signal: never, onProgress: () => undefined });
}

type Response = { readonly text: string; readonly cachedTokens: number; readonly promptTokens: number };

async function respond(engine: Engine, prompt: string, cachePartition = "alice"): Promise<Response> {
  const input = { type: "raw", prompt } as const;
  const request: EngineRequest = { input, sampling: greedySampling, maxTokens: 12, cachePartition };
  let text = "";
  let [cachedTokens, promptTokens] = [0, 0];
  for await (const event of engine.generate(request, never)) {
    if (event.type === "text-delta") text += event.text;
    if (event.type === "generation-end") ({ cachedTokens, promptTokens } = event.usage);
  }
  return { text, cachedTokens, promptTokens };
}

test("a conversation goes on in another process as if it had never stopped, for its own client only", async () => {
  const store = new MemoryStore();
  let first: Response;
  let expected: Response;
  {
    await using engine = await load(store);
    first = await respond(engine, story);
    expected = await respond(engine, `${story}${first.text} Then`);
  }
  expect(store.kept.length).toBeGreaterThan(0);
  await using engine = await load(store);
  const second = await respond(engine, `${story}${first.text} Then`);
  expect([first.cachedTokens, second.cachedTokens >= first.promptTokens]).toEqual([0, true]);
  expect(second.text).toBe(expected.text);
  expect((await respond(engine, story, "bob")).cachedTokens).toBe(0);
});

test("a state of another context size is not used", async () => {
  const store = new MemoryStore();
  {
    await using engine = await load(store);
    await respond(engine, story);
  }
  await using engine = await load(store, { contextTokens: 1024 });
  expect((await respond(engine, story)).cachedTokens).toBe(0);
});

test("a state that the engine cannot read is discarded, and the prompt is evaluated", async () => {
  const store = new MemoryStore();
  let expected: Response;
  {
    await using engine = await load(store);
    expected = await respond(engine, story);
  }
  for (const state of store.kept) state.content = Buffer.alloc(state.content.length, "not a state");
  await using engine = await load(store);
  const response = await respond(engine, story);
  expect(response).toEqual(expected);
  await expect.poll(() => store.discarded).toBe(1);
});

test("a state that exceeds the limit is not kept, and the model goes on", async () => {
  const store = new MemoryStore(10_000);
  await using engine = await load(store, { sequences: 1 });
  const first = await respond(engine, story);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect((await respond(engine, story)).text).toBe(first.text);
  expect(store.kept).toEqual([]);
});

test("a conversation survives another one in its only sequence", async () => {
  const store = new MemoryStore();
  await using engine = await load(store, { sequences: 1 });
  const first = await respond(engine, story);
  await expect.poll(() => store.kept.length).toBe(1);
  expect((await respond(engine, `9. ${story}`, "bob")).cachedTokens).toBe(0);
  const again = await respond(engine, `${story}${first.text} Then`);
  expect(again.cachedTokens).toBeGreaterThanOrEqual(first.promptTokens);
});
