import type { EngineEvent, EngineRequest, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { type LlamaServer, preparedWorker, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";
import { generateWithPlainKernels } from "./test/generate-with-plain-kernels.ts";

const tolerance = 0.01;
/** Each is one request to the server. */
const comparedTokens = chooseSize({ ci: 4, show: 12, nightly: 12 });

type Reference = { readonly plan: LoadPlan; readonly server: LlamaServer };

/** The same model in our engine and in llama.cpp's own server. */
async function prepare(file: Parameters<typeof testModel>[0]): Promise<Reference> {
  const modelPath = await testModel(file);
  const server = await startLlamaServer({ model: modelPath, contextTokens: 1024 });
  const size = { contextTokens: 1024, sequences: 2, threads: 1, gpuLayers: 0 };
  return { plan: { modelPath, ...size, purpose: "generate" }, server };
}

let smol: Reference;
let tiny: Reference;
beforeAll(async () => {
  smol = await prepare("smollm2-135m-instruct-q4_1.gguf");
  tiny = await prepare("tiny-llama.gguf");
}, 300_000);
afterAll(async () => {
  for (const { server } of [smol, tiny]) await server[Symbol.asyncDispose]();
});

function request(input: EngineRequest["input"], changes: Partial<EngineRequest> = {}): EngineRequest {
  return { input, sampling: greedySampling, maxTokens: 12, cachePartition: "", ...changes };
}

function raw(prompt: string, changes: Partial<EngineRequest> = {}): EngineRequest {
  return request({ type: "raw", prompt }, changes);
}

function textOf(events: readonly EngineEvent[] = []): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

function tokensOf(events: readonly EngineEvent[] = []) {
  return events.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
}

type Completion = {
  readonly content: string;
  readonly completion_probabilities: readonly {
    readonly top_logprobs: readonly { readonly id: number; readonly logprob: number }[];
  }[];
};

async function complete(server: LlamaServer, path: string, body: object): Promise<Completion> {
  const settings = { n_predict: 12, temperature: 0, repeat_penalty: 1, cache_prompt: false };
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    body: JSON.stringify({ ...settings, ...body }),
  });
  expect(response.status).toBe(200);
  // The documented shape of llama.cpp's own completions.
  return (await response.json()) as Completion;
}

async function tokenize(server: LlamaServer, content: string): Promise<readonly number[]> {
  const response = await fetch(`${server.url}/tokenize`, {
    method: "POST",
    body: JSON.stringify({ content }),
  });
  // The documented shape of llama.cpp's own server.
  return ((await response.json()) as { readonly tokens: readonly number[] }).tokens;
}

test("log-probabilities come from the model's raw logits, whatever the sampling options", {
  timeout: 180_000,
}, async () => {
  const prompts = ["The capital of France is", "Once upon a time", "def add(a, b):\n"];
  const sampled = { ...greedySampling, temperature: 1.5, topK: 0, topP: 1, repeatPenalty: 1.3, seed: 7 };
  const requests = [greedySampling, sampled].flatMap((sampling) =>
    prompts.map((prompt) => raw(prompt, { sampling, logProbabilities: 5, maxTokens: comparedTokens })),
  );
  const outputs = await generateWithPlainKernels(smol.plan, requests);
  let compared = 0;
  let maxDifference = 0;
  for (const [index, events] of outputs.entries()) {
    const before = [...(await tokenize(smol.server, prompts[index % prompts.length] ?? ""))];
    for (const token of tokensOf(events)) {
      // The server reports the probabilities of the next token after the same tokens.
      const reference = await complete(smol.server, "/completion", {
        prompt: before,
        n_predict: 1,
        n_probs: 200,
      });
      const referenceLogprobs = new Map(
        reference.completion_probabilities[0]?.top_logprobs.map(({ id, logprob }) => [id, logprob]),
      );
      for (const { token: id, logProbability } of [token, ...token.alternatives]) {
        const expected = referenceLogprobs.get(id);
        if (expected === undefined) continue;
        compared += 1;
        maxDifference = Math.max(maxDifference, Math.abs(logProbability - expected));
      }
      before.push(token.token);
    }
  }
  expect(maxDifference).toBeLessThanOrEqual(tolerance);
  recordFigure({
    claim: "engine 13",
    text: `${compared} log-probabilities within ${maxDifference.toFixed(4)} of llama.cpp's own server (needed ${tolerance})`,
    counted: { reached: compared, needed: requests.length * comparedTokens * 5 },
  });
});

test("fill-in-the-middle matches llama.cpp's own server, if the model has the tokens", async () => {
  const cases = [
    { prefix: "the house of the ", suffix: " and the water" },
    { prefix: "", suffix: " by the sea" },
    { prefix: "one two three", suffix: "" },
  ];
  const requests = cases.map((texts) => request({ type: "fill-in-the-middle", ...texts }));
  const outputs = await generateWithPlainKernels(tiny.plan, requests);
  for (const [index, { prefix, suffix }] of cases.entries()) {
    const reference = await complete(tiny.server, "/infill", { input_prefix: prefix, input_suffix: suffix });
    expect(textOf(outputs[index])).toBe(reference.content);
    expect(reference.content).not.toBe("");
  }
  recordFigure({
    claim: "engine 13",
    text: `${cases.length} of ${cases.length} completions equal those of llama.cpp's own server`,
    counted: { reached: cases.length, needed: 3 },
  });
});

test("a model without these tokens reports it and rejects fill-in-the-middle", async () => {
  const never = new AbortController().signal;
  await using engine = await createLlamaDriver(await preparedWorker()).load(smol.plan, {
    signal: never,
    onProgress: () => undefined,
  });
  expect(engine.describe().canFillInTheMiddle).toBe(false);
  const infill = request({ type: "fill-in-the-middle", prefix: "a", suffix: "b" });
  await expect(Array.fromAsync(engine.generate(infill, never))).rejects.toMatchObject({
    failure: { kind: "not-supported", feature: "fill-in-the-middle" },
  });
});

test("logit bias matches llama.cpp's own server: shifting, forbidding and forcing a token", async () => {
  const prompt = "The capital of France is";
  const paris = (await tokenize(smol.server, " Paris"))[0] ?? -1;
  const biases = [
    new Map([[paris, Number.NEGATIVE_INFINITY]]),
    new Map([[paris, -100]]),
    new Map([[100, 100]]),
  ];
  const requests = [new Map<number, number>(), ...biases].map((logitBias) =>
    raw(prompt, { sampling: { ...greedySampling, logitBias }, maxTokens: 6 }),
  );
  const [unbiased, ...biased] = (await generateWithPlainKernels(smol.plan, requests)).map(textOf);
  for (const [index, logitBias] of biases.entries()) {
    const reference = await complete(smol.server, "/completion", {
      prompt,
      n_predict: 6,
      logit_bias: [...logitBias].map(([token, bias]) => [token, Number.isFinite(bias) ? bias : false]),
    });
    expect(biased[index]).toBe(reference.content);
    expect(biased[index]).not.toBe(unbiased);
  }
  expect(unbiased).toContain("Paris");
  recordFigure({
    claim: "engine 13",
    text: `${biases.length} of ${biases.length} biased outputs equal those of llama.cpp's own server`,
    counted: { reached: biases.length, needed: 3 },
  });
});
