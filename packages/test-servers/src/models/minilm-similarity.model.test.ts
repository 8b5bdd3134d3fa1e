import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { beforeAll, expect, test } from "vitest";
import { type LlamaServer, startLlamaServer } from "../llama-server/start-llama-server.ts";
import { preparePython } from "../python/prepare-python.ts";
import { runPython } from "../python/run-python.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { testModel } from "./test-model.ts";

type Pair = {
  readonly first: string;
  readonly second: string;
  readonly firstTokens: readonly number[];
  readonly secondTokens: readonly number[];
  readonly cosine: number;
};

const recorded = fileURLToPath(new URL("fixtures/minilm-similarities.json", import.meta.url));
const scripts = new URL("../../../../scripts/test-models/", import.meta.url);
const maxDifference = 0.01;
const pairsNeeded = 10;

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("llama.cpp computes the float32 reference similarities with the MiniLM GGUF", async () => {
  await using server = await startMiniLm();
  const differences = await measureDifferences(server);
  const close = differences.filter((difference) => difference <= maxDifference).length;
  const largest = Math.max(...differences).toFixed(5);
  expect(differences).toHaveLength(pairsNeeded);
  expect(close).toBe(pairsNeeded);
  recordFigure({
    claim: "ground 5",
    text: `${close} of ${pairsNeeded} pairs within ${maxDifference}, largest difference ${largest}`,
    counted: { reached: close, needed: pairsNeeded },
  });
});

test("a GGUF with BERT's unconverted vocabulary is detected", async () => {
  await using folder = await makeTemporaryFolder("minilm");
  const model = join(folder.path, "wrong.gguf");
  const convert = fileURLToPath(new URL("fixtures/convert-without-word-marks.py", import.meta.url));
  await runPython(convert, [fileURLToPath(scripts), await findSource(), model]);
  await using server = await startLlamaServer({ model, embeddings: true, contextTokens: 512 });
  const differences = await measureDifferences(server);
  expect(Math.max(...differences)).toBeGreaterThan(10 * maxDifference);
});

test("llama.cpp splits the sentences into the tokens of the reference", async () => {
  await using server = await startMiniLm();
  for (const { first, second, firstTokens, secondTokens } of await readPairs(recorded)) {
    expect(await tokenize(server, first)).toEqual(firstTokens);
    expect(await tokenize(server, second)).toEqual(secondTokens);
  }
});

test("an embedding has 384 dimensions and unit length", async () => {
  await using server = await startMiniLm();
  const embedding = await embed(server, "A short sentence");
  expect(embedding).toHaveLength(384);
  expect(similarity(embedding, embedding)).toBeCloseTo(1, 5);
});

test("the recorded pairs are distinct sentences, from nearly identical to unrelated", async () => {
  const pairs = await readPairs(recorded);
  const cosines = pairs.map(({ cosine }) => cosine);
  expect(new Set(pairs.flatMap(({ first, second }) => [first, second])).size).toBe(2 * pairsNeeded);
  expect(Math.max(...cosines)).toBeGreaterThan(0.9);
  expect(Math.min(...cosines)).toBeLessThan(0.1);
  expect(cosines.filter((cosine) => cosine > 0.2 && cosine < 0.8).length).toBeGreaterThanOrEqual(3);
});

test("the reference script reproduces the recorded similarities", async () => {
  const script = fileURLToPath(new URL("reference-similarities.py", scripts));
  const { pairs } = parsePairs(await runPython(script, [await findSource(), recorded]));
  const expected = await readPairs(recorded);
  expect(pairs).toHaveLength(pairsNeeded);
  for (const [index, pair] of expected.entries()) {
    expect(pairs[index]).toEqual({ ...pair, cosine: expect.closeTo(pair.cosine, 4) });
  }
});

async function startMiniLm(): Promise<LlamaServer> {
  const model = await testModel("all-minilm-l6-v2-f32.gguf");
  return startLlamaServer({ model, embeddings: true, contextTokens: 512 });
}

async function measureDifferences(server: LlamaServer): Promise<readonly number[]> {
  const differences: number[] = [];
  for (const { first, second, cosine } of await readPairs(recorded)) {
    const measured = similarity(await embed(server, first), await embed(server, second));
    differences.push(Math.abs(measured - cosine));
  }
  return differences;
}

/** The folder of MiniLM's source files, each verified. */
async function findSource(): Promise<string> {
  await testModel("all-minilm-l6-v2/config.json");
  await testModel("all-minilm-l6-v2/vocab.txt");
  return dirname(await testModel("all-minilm-l6-v2/model.safetensors"));
}

async function readPairs(path: string): Promise<readonly Pair[]> {
  return parsePairs(await readFile(path, "utf8")).pairs;
}

function parsePairs(written: string): { readonly pairs: readonly Pair[] } {
  // The reference script writes this shape; the fixture is a recording of it.
  return JSON.parse(written) as { pairs: readonly Pair[] };
}

async function embed(server: LlamaServer, input: string): Promise<readonly number[]> {
  // llama.cpp responds in OpenAI's format.
  const response = (await post(server, "/v1/embeddings", { input })) as { data: { embedding: number[] }[] };
  return response.data[0]?.embedding ?? [];
}

async function tokenize(server: LlamaServer, content: string): Promise<readonly number[]> {
  // The shape of llama.cpp's own endpoint.
  return ((await post(server, "/tokenize", { content, add_special: true })) as { tokens: number[] }).tokens;
}

async function post(server: LlamaServer, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return response.json();
}

function similarity(first: readonly number[], second: readonly number[]): number {
  return first.reduce((sum, value, index) => sum + value * (second[index] ?? Number.NaN), 0);
}
