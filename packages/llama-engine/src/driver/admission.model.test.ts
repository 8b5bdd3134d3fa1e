import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;

function request(maxTokens: number, cachePartition: string): EngineRequest {
  return {
    input: { type: "raw", prompt: "Once upon a time" },
    sampling: greedySampling,
    maxTokens,
    cachePartition,
  };
}

async function run(engine: Engine, sent: EngineRequest, onText = (): void => undefined): Promise<void> {
  for await (const event of engine.generate(sent, never)) if (event.type === "text-delta") onText();
}

test.for([
  ["the same client", "one"],
  ["another client", "two"],
] as const)(
  "a request of %s on a used sequence starts while other requests are still generating",
  async ([, partition]) => {
    const plan = {
      contextTokens: 2048,
      sequences: 3,
      threads: 1,
      gpuLayers: 0,
      purpose: "generate",
    } as const;
    await using engine = await createLlamaDriver(await preparedWorker()).load(
      { modelPath: await testModel("tiny-llama.gguf"), ...plan },
      { signal: never, onProgress: () => undefined },
    );
    // Every sequence has cached output, which the next request on it must trim.
    await Promise.all([1, 2, 3].map(() => run(engine, request(8, "one"))));
    const ended: string[] = [];
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const longRequests = started.map(async ({ resolve }) => {
      await run(engine, request(300, "one"), resolve);
      ended.push("long");
    });
    await Promise.all(started.map(({ promise }) => promise));
    await run(engine, request(4, partition));
    ended.push("short");
    await Promise.all(longRequests);
    expect(ended).toEqual(["short", "long", "long"]);
  },
);
