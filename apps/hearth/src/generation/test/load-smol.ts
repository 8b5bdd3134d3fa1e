import type { Engine } from "@hearth-and-keep/engine";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";

/** SmolLM2 with one sequence and one thread. */
export async function loadSmol(): Promise<Engine> {
  const modelPath = await testModel("smollm2-135m-instruct-q4_1.gguf");
  const plan = { modelPath, contextTokens: 1024, sequences: 1, threads: 1, gpuLayers: 0 } as const;
  const options = { signal: new AbortController().signal, onProgress: () => undefined };
  return createLlamaDriver(await preparedWorker()).load({ ...plan, purpose: "generate" }, options);
}
