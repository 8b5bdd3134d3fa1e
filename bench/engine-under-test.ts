import type { Engine, EngineDriver, EngineRequest, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "@hearth-and-keep/upstream-engine";

export const never: AbortSignal = new AbortController().signal;

/** Loads SmolLM2 with one of the engines. */
export type LoadSmolLm = (changes?: Partial<LoadPlan>) => Promise<Engine>;

/** Loads SmolLM2 in llama.cpp's own server, spawned as Hearth spawns it. */
export async function loadInLlamaServer(changes: Partial<LoadPlan> = {}): Promise<Engine> {
  return loadBy(await llamaServerDriver(), { threads: 1, ...changes });
}

export async function llamaServerDriver(): Promise<EngineDriver> {
  const { interpreter } = await preparePython();
  return createLlamaServerDriver({ program: { kind: "xllamacpp", interpreter } });
}

/** Uses one thread by default, because on a contended core several threads are several times slower. */
export async function loadSmolLm(
  changes: Partial<LoadPlan> = {},
  threads: "one thread" | "threads by measurement" = "one thread",
): Promise<Engine> {
  return loadBy(createLlamaDriver(await preparedWorker()), {
    ...(threads === "one thread" ? { threads: 1 } : {}),
    ...changes,
  });
}

async function loadBy(driver: EngineDriver, changes: Partial<LoadPlan>): Promise<Engine> {
  const plan: LoadPlan = {
    modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    contextTokens: 2048,
    sequences: 8,
    gpuLayers: 0,
    purpose: "generate",
    ...changes,
  };
  return driver.load(plan, { signal: never, onProgress: () => undefined });
}

/** SmolLM2's end-of-sequence tokens; banning them makes every response exactly `maxTokens` long. */
const endTokens = [0, 2];

export function greedy(prompt: string, changes: Partial<EngineRequest> = {}): EngineRequest {
  return {
    input: { type: "raw", prompt },
    sampling: {
      ...greedySampling,
      logitBias: new Map(endTokens.map((token) => [token, Number.NEGATIVE_INFINITY])),
    },
    maxTokens: 64,
    cachePartition: "bench",
    ...changes,
  };
}

export type Timed = {
  readonly firstMilliseconds: number;
  readonly allMilliseconds: number;
  readonly outputTokens: number;
};

/** Runs one request to completion and measures the time to its first text. */
export async function time(
  engine: Engine,
  request: EngineRequest,
  signal: AbortSignal = never,
): Promise<Timed> {
  const startedAt = performance.now();
  let firstMilliseconds = Number.NaN;
  let outputTokens = 0;
  for await (const event of engine.generate(request, signal)) {
    if (event.type === "text-delta" && Number.isNaN(firstMilliseconds))
      firstMilliseconds = performance.now() - startedAt;
    if (event.type === "generation-end") outputTokens = event.usage.outputTokens;
  }
  return { firstMilliseconds, allMilliseconds: performance.now() - startedAt, outputTokens };
}

/** Tokens per second over concurrent requests, from the start of the first to the end of the last. */
export async function throughput(engine: Engine, requests: readonly EngineRequest[]): Promise<number> {
  const startedAt = performance.now();
  const timed = await Promise.all(requests.map((request) => time(engine, request)));
  const tokens = timed.reduce((sum, each) => sum + each.outputTokens, 0);
  return (tokens * 1000) / (performance.now() - startedAt);
}

export function storyPrompts(count: number): readonly string[] {
  return Array.from(
    { length: count },
    (_none, index) => `<|im_start|>user\nTell story number ${index + 1}.<|im_end|>\n<|im_start|>assistant\n`,
  );
}

/** Each call uses a new cache partition, so that no round finds the previous round's prompts in the cache. */
export function storyRequests(streams: number, maxTokens: number): readonly EngineRequest[] {
  const cachePartition = freshPartition();
  return storyPrompts(streams).map((prompt) => greedy(prompt, { maxTokens, cachePartition }));
}

let partitions = 0;
export function freshPartition(): string {
  partitions += 1;
  return `bench ${partitions}`;
}

/** About ten tokens. */
export const sentence = "The quick brown fox jumps over the lazy dog. ";

export function turn(text: string): string {
  return `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`;
}
