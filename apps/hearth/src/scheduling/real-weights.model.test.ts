import { greedySampling } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import type { SchedulingEvent } from "./events.ts";
import type { Lease, LoadRequest } from "./load-request.ts";
import { createScheduler } from "./scheduler.ts";
import { never, release } from "./test/fixture.ts";

async function generateText({ engine }: Lease): Promise<string> {
  const input = { type: "raw", prompt: "Once upon a time" } as const;
  const request = { input, sampling: greedySampling, maxTokens: 4, cachePartition: "" };
  let text = "";
  for await (const event of engine.generate(request, never))
    if (event.type === "text-delta") text += event.text;
  return text;
}

test("two real models alternate under a budget for one, and each generates the same text again", async () => {
  const events: SchedulingEvent[] = [];
  const size = { fileBytes: 100_000_000, layers: 30, keyValueHeads: 3, headSize: 64 };
  const base = { purpose: "generate", trainedContextTokens: 512, size } as const;
  const requests: readonly LoadRequest[] = [
    { ...base, key: "small", modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf") },
    { ...base, key: "tiny", modelPath: await testModel("tiny-llama.gguf") },
  ];
  const scheduler = createScheduler({
    driver: createLlamaDriver(await preparedWorker()),
    limits: { memoryBudgetBytes: 150_000_000, sequences: 2 },
    loadSettings: { threads: 1, gpuLayers: 0 },
    onEvent: (event) => events.push(event),
  });
  const outputs: string[] = [];
  for (const each of [...requests, ...requests]) {
    const lease = await scheduler.acquire(each, never);
    expect(lease.contextTokens).toBe(512);
    outputs.push(await generateText(lease));
    release(lease);
  }
  await scheduler.close(5);
  expect(outputs.slice(0, 2)).toEqual(outputs.slice(2));
  expect(outputs.every((output) => output !== "")).toBe(true);
  const unloads = events.flatMap((event) => (event.type === "model-unloaded" ? event.reason : []));
  expect(unloads).toEqual(["evicted", "evicted", "evicted", "stopping"]);
}, 300_000);
