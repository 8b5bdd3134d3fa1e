import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
const maxGapMilliseconds = hasLooseTimingBounds ? 2000 : 250;
/** More than the context can hold, whatever its tokens are. */
const longText = "Once upon a time there was a prompt that did not end. ".repeat(240_000);

function request(prompt: string, maxTokens: number): EngineRequest {
  return {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    maxTokens,
    cachePartition: "one",
  };
}

/** Returns the longest time between two events. */
async function run(engine: Engine, sent: EngineRequest, onText = (): void => undefined): Promise<number> {
  let longestGap = 0;
  let lastAt = performance.now();
  for await (const event of engine.generate(sent, never)) {
    longestGap = Math.max(longestGap, performance.now() - lastAt);
    lastAt = performance.now();
    if (event.type === "text-delta") onText();
  }
  return longestGap;
}

async function loadSmolLm(contextTokens: number): Promise<Engine> {
  const plan = { contextTokens, sequences: 2, threads: 1, gpuLayers: 0, purpose: "generate" } as const;
  return createLlamaDriver(await preparedWorker()).load(
    { ...plan, modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf") },
    { signal: never, onProgress: () => undefined },
  );
}

test("a prompt of 12 MB is rejected without tokenizing it, so that other streams do not stall", async () => {
  await using engine = await loadSmolLm(2048);
  expect(longText.length).toBeGreaterThan(12_000_000);
  const started = Promise.withResolvers<void>();
  const neighbour = run(engine, request("Once upon a time", 60), started.resolve);
  await started.promise;
  await expect(run(engine, request(longText, 1))).rejects.toMatchObject({
    failure: { kind: "prompt-too-long", contextTokens: 8192 },
  });
  const conversation = { messages: [{ role: "user", content: longText }] } as const;
  await expect(engine.count(conversation)).rejects.toMatchObject({ failure: { kind: "prompt-too-long" } });
  expect(await neighbour).toBeLessThan(maxGapMilliseconds);
  expect(await run(engine, request(longText.slice(0, 2000), 1))).toBeGreaterThan(0);
});

describe("a prompt that may fit is tokenized in slices, so that other streams do not stall", () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await loadSmolLm(8192);
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test.each([
    ["of many lines", "A line of a long text that has some words.\n"],
    ["of one line", "words and more words, "],
    ["of one word", "abcdefgh"],
  ])("%s", async (_what, part) => {
    const text = part.repeat(400_000 / part.length);
    const started = Promise.withResolvers<void>();
    const neighbour = run(engine, request("Once upon a time", 60), started.resolve);
    await started.promise;
    const tokens = await engine.count({ messages: [{ role: "user", content: text }] });
    expect(tokens).toBeGreaterThan(10_000);
    expect(await neighbour).toBeLessThan(maxGapMilliseconds);
  });
});
