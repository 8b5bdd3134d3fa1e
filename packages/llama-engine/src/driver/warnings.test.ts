import { lookAtMachine } from "@hearth-and-keep/engine-host";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
// A node that exists everywhere and that no GPU driver answers on.
const deafGpu = { path: "/dev/null", groupId: 0 };

test.each([
  { situation: "a GPU is there but not used", gpuDevices: [deafGpu], plan: {}, warnings: 1 },
  { situation: "there is none", gpuDevices: [], plan: {}, warnings: 0 },
  { situation: "the processor was asked for", gpuDevices: [deafGpu], plan: { gpuLayers: 0 }, warnings: 0 },
])(
  "a model on the processor is warned of $warnings times when $situation",
  async ({ gpuDevices, plan, warnings }) => {
    const heard: string[] = [];
    const driver = createLlamaDriver({
      machine: { ...lookAtMachine(), gpuDevices },
      onWarning: (sentence) => heard.push(sentence),
    });
    const modelPath = await testModel("tiny-llama.gguf");
    await using engine = await driver.load(
      { modelPath, contextTokens: 128, sequences: 1, threads: 1, purpose: "generate", ...plan },
      { signal: never, onProgress: () => undefined },
    );
    expect(engine.describe().gpu).toBe(false);
    expect(heard).toEqual(
      Array(warnings).fill(
        'The model "tiny-llama.gguf" runs on the processor though there is a GPU at "/dev/null"',
      ),
    );
  },
  60_000,
);
