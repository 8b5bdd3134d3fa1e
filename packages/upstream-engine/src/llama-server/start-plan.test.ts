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
  const options = { socketPath: "/e.sock", key: "secret", splitsTexts };
  const { batchTokens, stepTokens } = await planStart({ ...plan, ...changes }, options);
  return { batchTokens, stepTokens };
}

test("a generating model uses small batches, unless an image needs a larger one", async () => {
  expect(await sizesOf({}, false)).toEqual({ batchTokens: 512, stepTokens: 512 });
  expect(await sizesOf({ projectorPath: "/models/projector.gguf" }, false)).toEqual({
    batchTokens: 2048,
    stepTokens: 512,
  });
});

test("an embedding model uses one batch per text only if its pooling requires it; a reranker always does", async () => {
  expect(await sizesOf({ purpose: "embed" }, true)).toEqual({ batchTokens: 512, stepTokens: 512 });
  expect(await sizesOf({ purpose: "embed" }, false)).toEqual({ batchTokens: 8192, stepTokens: 8192 });
  expect(await sizesOf({ purpose: "rank" }, true)).toEqual({ batchTokens: 8192, stepTokens: 8192 });
});

test.each([
  { name: "last-token pooling", pooling: 3, splits: true },
  {
    name: "last-token pooling without causal attention",
    pooling: 3,
    causal: false,
    splits: false,
  },
  {
    name: "last-token pooling of an encoder",
    architecture: "bert",
    pooling: 3,
    splits: false,
  },
  { name: "mean pooling", pooling: 1, splits: false },
  { name: "rank pooling", pooling: 4, splits: false },
  { name: "unknown pooling", splits: false },
])("whether a text can be split with $name: $splits", (each) => {
  const { architecture = "qwen3", pooling, causal, splits } = each;
  const entries: [string, { type: string; value: unknown }][] = [];
  if (pooling !== undefined) {
    entries.push([`${architecture}.pooling_type`, { type: "uint32", value: pooling }]);
  }
  if (causal !== undefined)
    entries.push([`${architecture}.attention.causal`, { type: "bool", value: causal }]);
  // No other field of the file is used.
  const file = { architecture, metadata: new Map(entries) } as unknown as ModelFile;
  expect(canSplitTexts(file)).toBe(splits);
});
