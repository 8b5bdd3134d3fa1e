import type { Engine, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { chatStreams } from "./chat-streams.ts";
import { never, throughput } from "./engine-under-test.ts";
import { compare, lowerBound, sized } from "./rounds.ts";
import { startHearth, timeStream } from "./served.ts";

const tinyModel = "tiny-llama.gguf";
const contextTokens = 512;
const sequences = 32;

/** The engine request that every API's request becomes: with the default repeat penalty and without thinking. */
function engineRequest(prompt: string, maxTokens: number): EngineRequest {
  return {
    input: {
      type: "conversation",
      conversation: { messages: [{ role: "user", content: prompt }], thinking: false },
    },
    sampling: { ...greedySampling, repeatPenalty: 1.1 },
    maxTokens,
    cachePartition: "",
  };
}

function prompts(streams: number): readonly string[] {
  return Array.from({ length: streams }, (_none, index) => `Tell story number ${index + 1}.`);
}

async function loadTiny(): Promise<Engine> {
  const plan = { contextTokens, sequences, gpuLayers: 0, threads: 1, purpose: "generate" } as const;
  const modelPath = await testModel(tinyModel);
  return createLlamaDriver(await preparedWorker()).load(
    { ...plan, modelPath },
    { signal: never, onProgress: () => undefined },
  );
}

test.for([
  // Long enough that neither brief noise nor the start of a stream decides a round.
  { streams: 1, tokens: sized(256, 32), bound: 0.95 },
  { streams: 32, tokens: sized(96, 8), bound: 0.9 },
])(
  "$streams streams over HTTP are nearly as fast as at the engine port, with the Ollama, OpenAI and Anthropic APIs",
  { timeout: 600_000 },
  async ({ streams, tokens, bound }) => {
    await using engine = await loadTiny();
    await using hearth = await startHearth(tinyModel, {
      HEARTH_THREADS: "1",
      HEARTH_PARALLEL_REQUESTS: String(sequences),
      HEARTH_CONTEXT_LENGTH: String(contextTokens),
    });
    // Loads the model.
    await timeStream(`${hearth.url}/api/generate`, {
      model: "model",
      prompt: "Hello",
      options: { num_predict: 1 },
    });
    const requests = prompts(streams).map((prompt) => engineRequest(prompt, tokens));
    for (const { api, path, body } of chatStreams) {
      const atSocket = async (): Promise<number> => {
        const startedAt = performance.now();
        const streaming = prompts(streams).map((prompt) =>
          timeStream(hearth.url + path, body(prompt, tokens)),
        );
        const outputTokens = (await Promise.all(streaming)).reduce((sum, each) => sum + each.outputTokens, 0);
        expect(outputTokens).toBe(streams * tokens);
        return (outputTokens * 1000) / (performance.now() - startedAt);
      };
      const { ratio, medians } = await compare(
        `socket-against-port-${streams}-${api.toLowerCase()}`,
        { name: "socket", measure: atSocket },
        { name: "port", measure: () => throughput(engine, requests) },
      );
      recordFigure({
        claim: "families 8",
        text: `${api}, ${streams} streams: ${ratio.toFixed(3)} of the engine port (${medians.map((each) => each.toFixed(0)).join(" against ")} tokens/s), needed ${bound}`,
      });
      expect.soft(ratio, api).toBeGreaterThanOrEqual(lowerBound(bound));
    }
  },
);
