import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect } from "vitest";
import { type DriverRule, never, request } from "./driver-fixture.ts";

/** Loading, descriptions, embeddings, ranking and unloading. */
export const loadingRules: readonly DriverRule[] = [
  {
    name: "a loaded engine describes itself",
    async verify({ engine }) {
      const description = engine.describe();
      expect(description).toMatchObject({
        contextTokens: 1024,
        sequences: 2,
        threads: 1,
        splitsEvents: false,
      });
      expect(description.chatTemplate).toContain("<think>");
      expect(description.templateCapabilities).toEqual({ tools: true, thinking: true });
      const { metadata } = description;
      expect([metadata["general.architecture"], metadata["llama.context_length"]]).toEqual(["llama", 16_384]);
      // Long lists are reported by their length, whichever driver runs the file.
      expect(metadata["tokenizer.ggml.tokens"]).toEqual({ length: expect.any(Number) });
      expect(description.trainedContextTokens).toBe(16_384);
      expect(description.memoryBytes.model).toBeGreaterThan(3_000_000);
      expect(description.memoryBytes.context).toBeGreaterThan(0);
    },
  },
  {
    name: "similar texts have similar embeddings",
    async verify({ load }) {
      const modelPath = await testModel("all-minilm-l6-v2-f32.gguf");
      await using engine = await load({ modelPath, contextTokens: 512, sequences: 1, purpose: "embed" });
      const texts = ["a small cat", "a little kitten", "the stock market fell"];
      const { vectors, tokens } = await engine.embed({ texts, truncates: false }, never);
      const [cat, kitten, market] = vectors.map((vector) => [...vector]);
      expect(cat).toHaveLength(384);
      expect(cosineSimilarity(cat, kitten)).toBeCloseTo(0.797, 2);
      expect(cosineSimilarity(cat, market)).toBeCloseTo(0.122, 2);
      expect(tokens).toBe((await Promise.all(texts.map((text) => engine.tokenize(text)))).flat().length);
      const long = { texts: ["word ".repeat(900)], truncates: false };
      await expect(engine.embed(long, never)).rejects.toMatchObject({ failure: { kind: "prompt-too-long" } });
      expect((await engine.embed({ ...long, truncates: true }, never)).vectors).toHaveLength(1);
      const generating = async () => {
        for await (const event of engine.generate(request("x"), never)) void event;
      };
      await expect(generating()).rejects.toMatchObject({ failure: { feature: "generation" } });
    },
  },
  {
    name: "a model loaded to generate embeds only if it says so, and does not rank",
    async verify({ engine }) {
      const [embedding] = await Promise.allSettled([engine.embed({ texts: ["x"], truncates: true }, never)]);
      const rejection = { reason: { failure: { feature: "embeddings" } } };
      const embeds = engine.describe().embedsBesideGeneration === true;
      expect(embedding).toMatchObject(embeds ? { value: { vectors: [expect.anything()] } } : rejection);
      await expect(engine.rank("x", ["y"], never)).rejects.toMatchObject({ failure: { feature: "ranking" } });
    },
  },
  {
    name: "an unloaded engine rejects calls with engine-unloaded",
    async verify({ load }) {
      const other = await load();
      await other.unload();
      expect(await other.closed).toBeUndefined();
      await expect(other.tokenize("x")).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
    },
  },
  {
    name: "a file that is not a model is rejected with a reason, and the driver keeps working",
    async verify({ load, engine }) {
      await using folder = await makeTemporaryFolder("no-model");
      const modelPath = join(folder.path, "no-model.gguf");
      await writeFile(modelPath, "not a model");
      await expect(load({ modelPath })).rejects.toMatchObject({ failure: { kind: "model-invalid" } });
      await expect(engine.tokenize("still here")).resolves.not.toEqual([]);
    },
  },
  {
    name: "an aborted load rejects with the reason of its signal",
    async verify({ driver, plan }) {
      const client = new AbortController();
      const loading = driver.load(plan, { signal: client.signal, onProgress: () => undefined });
      client.abort(new Error("changed my mind"));
      await expect(loading).rejects.toThrow("changed my mind");
    },
  },
  {
    name: "loading reports its progress up to 1",
    async verify({ driver, plan }) {
      const fractions: number[] = [];
      const options = { signal: never, onProgress: (fraction: number) => void fractions.push(fraction) };
      await using other = await driver.load(plan, options);
      expect(other.describe().sequences).toBe(2);
      expect(fractions.at(-1)).toBe(1);
    },
  },
];

function cosineSimilarity(one: readonly number[] = [], other: readonly number[] = []): number {
  return dotProduct(one, other) / Math.sqrt(dotProduct(one, one) * dotProduct(other, other));
}

function dotProduct(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
