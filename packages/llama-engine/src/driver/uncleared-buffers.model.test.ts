import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { descendantsOf, readProcessFile, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
const story = "Once upon a time a lighthouse keeper wrote down every ship that passed. ".repeat(12);
/** The cache of all sequences: 23 kB per token. */
const cacheMegabytes = 750;

async function loadSmolLm(shape: {
  readonly contextTokens: number;
  readonly sequences: number;
}): Promise<Engine> {
  const plan = { ...shape, threads: 1, gpuLayers: 0, purpose: "generate" } as const;
  return createLlamaDriver().load(
    { ...plan, modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf") },
    { signal: never, onProgress: () => undefined },
  );
}

type Response = { readonly text: string; readonly cachedTokens: number };

async function respond(engine: Engine, prompt: string): Promise<Response> {
  const request: EngineRequest = {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    maxTokens: 12,
    cachePartition: "one",
  };
  let text = "";
  let cachedTokens = 0;
  for await (const event of engine.generate(request, never)) {
    if (event.type === "text-delta") text += event.text;
    if (event.type === "generation-end") ({ cachedTokens } = event.usage);
  }
  return { text, cachedTokens };
}

/** The largest process that this one started. */
function workerMegabytes(): number {
  const sizes = descendantsOf(process.pid).map((pid) =>
    Number(/^VmRSS:\s+(\d+) kB/mu.exec(readProcessFile(pid, "status"))?.[1] ?? 0),
  );
  return Math.max(...sizes) / 1000;
}

/** Two turns of a conversation, then other ones in every sequence. */
async function converse(engine: Engine): Promise<readonly Response[]> {
  const first = await respond(engine, story);
  const second = await respond(engine, `${story}${first.text} Then`);
  const others: Response[] = [];
  for (let index = 0; index < 4; index += 1) others.push(await respond(engine, `${index}. ${story}`));
  return [first, second, ...others];
}

test("the cache of sequences that nobody uses occupies no memory, and nothing that is written later differs", {
  timeout: 300_000,
}, async () => {
  await using many = await loadSmolLm({ contextTokens: 4096, sequences: 8 });
  const { measuredMemory } = many.describe();
  expect((measuredMemory?.peakBytes ?? Number.NaN) / 1e6).toBeLessThan(cacheMegabytes);
  const responses = await converse(many);
  expect(workerMegabytes()).toBeLessThan(cacheMegabytes);
  // Too small to be left uncleared.
  await using one = await loadSmolLm({ contextTokens: 512, sequences: 1 });
  const expected = await converse(one);
  expect(responses.map(({ text }) => text)).toEqual(expected.map(({ text }) => text));
  expect(responses[1]?.cachedTokens).toBe(expected[1]?.cachedTokens);
  expect(responses[1]?.cachedTokens).toBeGreaterThan(150);
});
