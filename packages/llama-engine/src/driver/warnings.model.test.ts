import { inspectMachine } from "@hearth-and-keep/engine-host";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
// A device node that exists everywhere and has no GPU driver.
const fakeGpu = { path: "/dev/null", groupId: 0 };

test.each([
  { situation: "there is a GPU that is not used", gpuDevices: [fakeGpu], plan: {}, warnings: 1 },
  { situation: "there is no GPU", gpuDevices: [], plan: {}, warnings: 0 },
  { situation: "the plan asks for the CPU", gpuDevices: [fakeGpu], plan: { gpuLayers: 0 }, warnings: 0 },
])(
  "a model on the CPU causes $warnings warnings if $situation",
  async ({ gpuDevices, plan, warnings }) => {
    const received: string[] = [];
    const driver = createLlamaDriver({
      machine: { ...inspectMachine(), gpuDevices },
      onWarning: (message) => received.push(message),
    });
    const modelPath = await testModel("tiny-llama.gguf");
    await using engine = await driver.load(
      { modelPath, contextTokens: 128, sequences: 1, threads: 1, purpose: "generate", ...plan },
      { signal: never, onProgress: () => undefined },
    );
    expect(engine.describe().gpu).toBe(false);
    expect(received).toEqual(
      Array(warnings).fill(
        'The model "tiny-llama.gguf" runs on the CPU although there is a GPU at "/dev/null"',
      ),
    );
  },
  60_000,
);
