import { recordFigure } from "@hearth-and-keep/figures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { never } from "./engine-under-test.ts";

test("embeddings of MiniLM equal those of llama.cpp's own server", { timeout: 300_000 }, async () => {
  const modelPath = await testModel("all-minilm-l6-v2-f32.gguf");
  const plan = {
    modelPath,
    contextTokens: 512,
    sequences: 1,
    threads: 1,
    gpuLayers: 0,
    purpose: "embed",
  } as const;
  await using engine = await createLlamaDriver().load(plan, { signal: never, onProgress: () => undefined });
  await using server = await startLlamaServer({ model: modelPath, embeddings: true, contextTokens: 512 });
  const texts = [
    "A short sentence",
    "Ein Satz mit Umlauten: Grüße",
    "東京",
    "x",
    "A much longer sentence ".repeat(20),
  ];
  const { vectors, tokens } = await engine.embed({ texts, truncates: false }, never);
  expect(tokens).toBeGreaterThan(texts.length);
  const cosines = await Promise.all(
    texts.map(async (content, index) => {
      const response = await fetch(`${server.url}/v1/embeddings`, {
        method: "POST",
        body: JSON.stringify({ input: content }),
      });
      // The shape of OpenAI's embeddings, which llama.cpp's server follows.
      const { data: list } = (await response.json()) as { data: { embedding: number[] }[] };
      return cosine(vectors[index] ?? [], list[0]?.embedding ?? []);
    }),
  );
  const equal = cosines.filter((each) => each >= 0.9999).length;
  recordFigure({
    claim: "engine 15",
    text: `${equal} of ${texts.length} vectors with a cosine of at least 0.9999, the lowest ${Math.min(...cosines).toFixed(6)}`,
    counted: { reached: equal, needed: texts.length },
  });
  expect(Math.min(...cosines)).toBeGreaterThanOrEqual(0.9999);
});

function cosine(first: ArrayLike<number>, second: readonly number[]): number {
  return dot(first, second) / Math.sqrt(dot(first, first) * dot(second, second));
}

function dot(first: ArrayLike<number>, second: ArrayLike<number>): number {
  return Array.from(first).reduce((sum, each, index) => sum + each * (second[index] ?? 0), 0);
}
