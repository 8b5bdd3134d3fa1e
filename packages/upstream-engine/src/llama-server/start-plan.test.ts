import type { LoadPlan } from "@hearth-and-keep/engine";
import type { ModelFile } from "@hearth-and-keep/gguf";
import { expect, test } from "vitest";
import { canSplitTexts } from "./model-facts.ts";
import { planStart } from "./start-plan.ts";

const plan: LoadPlan = {
  modelPath: "/models/one.gguf",
  contextTokens: 8192,
  sequences: 4,
  threads: 1,
  gpuLayers: 0,
  purpose: "generate",
};

async function sizesOf(
  changes: Partial<LoadPlan>,
  splitsTexts: boolean,
): Promise<{ readonly batchTokens: number; readonly stepTokens: number }> {
  const parts = { socketPath: "/e.sock", key: "secret", splitsTexts };
  const { batchTokens, stepTokens } = await planStart({ ...plan, ...changes }, parts);
  return { batchTokens, stepTokens };
}

test("a model that writes gives others a turn after every piece, unless an image may need more at once", async () => {
  expect(await sizesOf({}, false)).toEqual({ batchTokens: 512, stepTokens: 512 });
  expect(await sizesOf({ projectorPath: "/models/eye.gguf" }, false)).toEqual({
    batchTokens: 2048,
    stepTokens: 512,
  });
});

test("an embedder reads in one piece only where its pooling needs it; a ranker always does", async () => {
  expect(await sizesOf({ purpose: "embed" }, true)).toEqual({ batchTokens: 512, stepTokens: 512 });
  expect(await sizesOf({ purpose: "embed" }, false)).toEqual({ batchTokens: 8192, stepTokens: 8192 });
  expect(await sizesOf({ purpose: "rank" }, true)).toEqual({ batchTokens: 8192, stepTokens: 8192 });
});

test.each([
  { name: "an embedder that takes the last token", pooling: 3, splits: true },
  {
    name: "an embedder that takes the last token and sees those behind",
    pooling: 3,
    causal: false,
    splits: false,
  },
  {
    name: "an embedder that takes the last token of an encoder",
    architecture: "bert",
    pooling: 3,
    splits: false,
  },
  { name: "an embedder that takes the mean", pooling: 1, splits: false },
  { name: "an embedder that ranks", pooling: 4, splits: false },
  { name: "an embedder that does not say", splits: false },
])("whether a text is read in pieces for $name: $splits", (each) => {
  const { architecture = "qwen3", pooling, causal, splits } = each;
  const entries: [string, { type: string; value: unknown }][] = [];
  if (pooling !== undefined) {
    entries.push([`${architecture}.pooling_type`, { type: "uint32", value: pooling }]);
  }
  if (causal !== undefined)
    entries.push([`${architecture}.attention.causal`, { type: "bool", value: causal }]);
  // Nothing else of a file is read for this.
  const file = { architecture, metadata: new Map(entries) } as unknown as ModelFile;
  expect(canSplitTexts(file)).toBe(splits);
});
