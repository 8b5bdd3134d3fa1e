import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect } from "vitest";
import { type EngineRule, never, request } from "./driver-fixture.ts";

/** How engines begin, what they say of themselves, what else they are for, and how they end. */
export const loadingRules: readonly EngineRule[] = [
  {
    name: "a loaded engine tells what it is",
    async prove({ engine }) {
      const description = engine.describe();
      expect(description).toMatchObject({
        contextTokens: 1024,
        sequences: 2,
        threads: 1,
        splitsEvents: false,
      });
      expect(description.chatTemplate).toContain("<think>");
      expect(description.templateAbilities).toEqual({ tools: true, thinking: true });
      const { metadata } = description;
      expect([metadata["general.architecture"], metadata["llama.context_length"]]).toEqual(["llama", 16_384]);
      // A long list is told by its length, whoever runs the file.
      expect(metadata["tokenizer.ggml.tokens"]).toEqual({ length: expect.any(Number) });
      expect(description.trainedContextTokens).toBe(16_384);
      expect(description.memoryBytes.model).toBeGreaterThan(3_000_000);
      expect(description.memoryBytes.context).toBeGreaterThan(0);
    },
  },
  {
    name: "texts become vectors that are alike when the texts are",
    async prove({ load }) {
      const modelPath = await testModel("all-minilm-l6-v2-f32.gguf");
      await using engine = await load({ modelPath, contextTokens: 512, sequences: 1, purpose: "embed" });
      const texts = ["a small cat", "a little kitten", "the stock market fell"];
      const { vectors, tokens } = await engine.embed({ texts, truncates: false }, never);
      const [cat, kitten, market] = vectors.map((vector) => [...vector]);
      expect(cat).toHaveLength(384);
      expect(likeness(cat, kitten)).toBeCloseTo(0.797, 2);
      expect(likeness(cat, market)).toBeCloseTo(0.122, 2);
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
    name: "a model that was loaded to write neither embeds nor ranks",
    async prove({ engine }) {
      const embedding = engine.embed({ texts: ["x"], truncates: true }, never);
      await expect(embedding).rejects.toMatchObject({ failure: { feature: "embeddings" } });
      await expect(engine.rank("x", ["y"], never)).rejects.toMatchObject({ failure: { feature: "ranking" } });
    },
  },
  {
    name: "an engine that was unloaded refuses in its own words",
    async prove({ load }) {
      const other = await load();
      await other.unload();
      expect(await other.ended).toBeUndefined();
      await expect(other.tokenize("x")).rejects.toMatchObject({ failure: { kind: "engine-unloaded" } });
    },
  },
  {
    name: "a file that is no model is refused with a reason, and the driver goes on",
    async prove({ load, engine }) {
      await using folder = await makeTemporaryFolder("no-model");
      const modelPath = join(folder.path, "no-model.gguf");
      await writeFile(modelPath, "not a model");
      await expect(load({ modelPath })).rejects.toMatchObject({ failure: { kind: "model-invalid" } });
      await expect(engine.tokenize("still here")).resolves.not.toEqual([]);
    },
  },
  {
    name: "a load that nobody waits for any more is given up",
    async prove({ driver, plan }) {
      const hangUp = new AbortController();
      const loading = driver.load(plan, { signal: hangUp.signal, onProgress: () => undefined });
      hangUp.abort(new Error("changed my mind"));
      await expect(loading).rejects.toThrow("changed my mind");
    },
  },
  {
    name: "loading shows its progress up to the end",
    async prove({ driver, plan }) {
      const shares: number[] = [];
      const parts = { signal: never, onProgress: (share: number) => void shares.push(share) };
      await using other = await driver.load(plan, parts);
      expect(other.describe().sequences).toBe(2);
      expect(shares.at(-1)).toBe(1);
    },
  },
];

function likeness(one: readonly number[] = [], other: readonly number[] = []): number {
  return along(one, other) / Math.sqrt(along(one, one) * along(other, other));
}

function along(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
}
