import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Engine, GenerateRequest, LoadPlan } from "../port/engine.ts";
import type { EngineEvent, GenerationEnd } from "../port/events.ts";
import { greedySampling } from "../scripted/greedy-sampling.ts";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
const driver = createLlamaDriver();
let plan: LoadPlan;
let engine: Engine;

beforeAll(async () => {
  plan = {
    modelPath: await testModel("tiny-llama.gguf"),
    contextTokens: 1024,
    sequences: 2,
    threads: 1,
    gpuLayers: 0,
    purpose: "generate",
  };
  engine = await driver.load(plan, { signal: never, onProgress: () => undefined });
}, 900_000);
afterAll(() => engine.unload());

function request(prompt: string, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    mostTokens: 16,
    cachePartition: "one",
    ...changes,
  };
}

async function run(asked: GenerateRequest, signal = never): Promise<{ text: string; end: GenerationEnd }> {
  let text = "";
  let end: EngineEvent | undefined;
  for await (const event of engine.generate(asked, signal)) {
    if (event.type === "text-delta") text += event.text;
    end = event;
  }
  if (end?.type !== "generation-end") throw new Error(`Cannot finish: the last event was ${end?.type}`);
  return { text, end };
}

test("a loaded engine tells what it is", () => {
  expect(engine.describe()).toMatchObject({
    contextTokens: 1024,
    sequences: 2,
    threads: 1,
    splitsEvents: false,
  });
  expect(engine.describe().chatTemplate).toContain("<think>");
  expect(engine.describe().metadata["general.architecture"]).toBe("llama");
});

test("an answer ends at its limit with length, and counts its tokens", async () => {
  const { text, end } = await run(request("Once upon a time"));
  expect(text).not.toBe("");
  expect(end).toMatchObject({ reason: "length", usage: { outputTokens: 16, cachedTokens: 0 } });
  expect(end.usage.promptTokens).toBe((await engine.tokenize("Once upon a time")).length + beginningTokens());
});

function warm(seed: number): GenerateRequest {
  return request("Tell me", { sampling: { ...greedySampling, temperature: 1, seed } });
}

function beginningTokens(): number {
  return engine.describe().metadata["tokenizer.ggml.add_bos_token"] === true ? 1 : 0;
}

test("the same request and seed give the same text, another seed another", async () => {
  const first = await run(warm(7));
  expect((await run(warm(7))).text).toBe(first.text);
  expect((await run(warm(8))).text).not.toBe(first.text);
});

test("the second request with the same beginning finds it in the cache", async () => {
  const beginning = "A long beginning that two requests share. ".repeat(8);
  const first = await run(request(`${beginning}One`));
  const second = await run(request(`${beginning}Two`));
  expect(second.end.usage.cachedTokens).toBeGreaterThan(first.end.usage.promptTokens / 2);
});

test("what one partition left in the cache is never used by another", async () => {
  const secret = "The words of somebody else, long enough to be worth reusing. ".repeat(6);
  await Promise.all([1, 2].map(() => run(request(secret, { cachePartition: "theirs" }))));
  const other = await run(request(secret, { cachePartition: "mine" }));
  expect(other.end.usage.cachedTokens).toBe(0);
  const own = await run(request(secret, { cachePartition: "mine" }));
  expect(own.end.usage.cachedTokens).toBeGreaterThan(0);
});

test("more requests than sequences wait their turn and all finish", async () => {
  const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((each) => run(request(`Number ${each}`))));
  expect(answers.map(({ end }) => end.usage.outputTokens)).toEqual([16, 16, 16, 16, 16, 16, 16]);
});

test("a prompt over the context is refused with both counts, one under it is read", async () => {
  const words = "word ".repeat(3000);
  await expect(run(request(words))).rejects.toMatchObject({
    failure: { kind: "prompt-too-long", contextTokens: 1024 },
  });
  await expect(run(request("word ".repeat(50)))).resolves.toBeDefined();
});

test("a full context ends with length, never with a silent cut", async () => {
  const { end } = await run(request("Fill it up", { mostTokens: 100_000 }));
  expect(end.reason).toBe("length");
  expect(end.usage.promptTokens + end.usage.outputTokens).toBeLessThanOrEqual(1024);
  expect(end.usage.outputTokens).toBeGreaterThan(900);
});

test("a hang-up frees the sequence, while writing and while waiting", async () => {
  for (let round = 0; round < 10; round += 1) {
    const hangUp = new AbortController();
    const pending = [1, 2, 3].map((each) =>
      run(request(`Go on ${each}`, { mostTokens: 900 }), hangUp.signal),
    );
    setTimeout(() => hangUp.abort(new Error("gone")), 20);
    const ends = await Promise.allSettled(pending);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  }
  // Both sequences are free again: two long answers run side by side without waiting.
  await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
});

test("leaving the loop is a hang-up too", async () => {
  for await (const event of engine.generate(request("Go on", { mostTokens: 900 }), never)) {
    if (event.type === "text-delta") break;
  }
  const after = await Promise.all([1, 2].map((each) => run(request(`After ${each}`))));
  expect(after.map(({ end }) => end.reason)).toEqual(["length", "length"]);
});

test("a token that is forbidden by bias is never written", async () => {
  const usual = await run(request("Once upon a time"));
  const [first] = await engine.tokenize(usual.text);
  const sampling = { ...greedySampling, logitBias: new Map([[first ?? 0, Number.NEGATIVE_INFINITY]]) };
  const biased = await run(request("Once upon a time", { sampling }));
  expect(await engine.tokenize(biased.text)).not.toContain(first);
});

test("log-probabilities come with every token, the likeliest first", async () => {
  const deltas: EngineEvent[] = [];
  for await (const event of engine.generate(request("Once", { logProbabilities: 3 }), never))
    deltas.push(event);
  const tokens = deltas.flatMap((event) => (event.type === "text-delta" ? (event.tokens ?? []) : []));
  expect(tokens).toHaveLength(16);
  for (const { alternatives, logProbability, token } of tokens) {
    expect(alternatives).toHaveLength(3);
    expect(alternatives[0]?.token).toBe(token);
    expect(logProbability).toBeLessThanOrEqual(0);
  }
});

test("an engine that was unloaded refuses in its own words", async () => {
  const other = await driver.load(plan, { signal: never, onProgress: () => undefined });
  await other.unload();
  expect(await other.ended).toBeUndefined();
  await expect(other.tokenize("x")).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
});

test("a file that is no model is refused with a reason, and the driver goes on", async () => {
  await using folder = await makeTemporaryFolder("no-model");
  const modelPath = join(folder.path, "no-model.gguf");
  await writeFile(modelPath, "not a model");
  const loading = driver.load({ ...plan, modelPath }, { signal: never, onProgress: () => undefined });
  await expect(loading).rejects.toMatchObject({ failure: { kind: "model-invalid" } });
  await expect(engine.tokenize("still here")).resolves.not.toEqual([]);
});

test("a load that nobody waits for any more is given up", async () => {
  const hangUp = new AbortController();
  const loading = driver.load(plan, { signal: hangUp.signal, onProgress: () => undefined });
  hangUp.abort(new Error("changed my mind"));
  await expect(loading).rejects.toThrow("changed my mind");
});

test("loading shows its progress up to the end", async () => {
  const shares: number[] = [];
  await using other = await driver.load(plan, { signal: never, onProgress: (share) => shares.push(share) });
  expect(other.describe().sequences).toBe(2);
  expect(shares.at(-1)).toBe(1);
});

test("the model's own template renders a conversation, and its tokens are counted", async () => {
  const conversation = {
    messages: [{ role: "user", content: "Hello" }],
    tools: [
      { name: "look_up", description: "Looks things up", parameters: { type: "object", properties: {} } },
    ],
    thinking: false,
  } as const;
  const prompt = await engine.render(conversation);
  expect(prompt).toContain("Hello");
  expect(prompt).toContain("look_up");
  expect(await engine.count(conversation)).toBe((await engine.tokenize(prompt)).length);
  const { end } = await run(request("", { input: { type: "conversation", conversation } }));
  expect(end.usage.promptTokens).toBe((await engine.count(conversation)) + beginningTokens());
});

test("an answer keeps the schema it is given", async () => {
  const schema = {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  };
  const { text, end } = await run(
    request("Say", { constraint: { type: "json-schema", schema }, mostTokens: 64 }),
  );
  expect(JSON.parse(text)).toEqual({ ok: expect.any(Boolean) });
  expect(end.reason).toBe("stop");
});

test("a keyword of a schema that is not supported is refused by name, and a grammar that is none with its reason", async () => {
  const schema = { type: "number", multipleOf: 3 };
  await expect(run(request("Say", { constraint: { type: "json-schema", schema } }))).rejects.toMatchObject({
    failure: { kind: "schema-unsupported", keyword: "multipleOf" },
  });
  const grammar = "root ::= nowhere";
  await expect(run(request("Say", { constraint: { type: "gbnf", grammar } }))).rejects.toMatchObject({
    failure: { kind: "grammar-invalid" },
  });
});
