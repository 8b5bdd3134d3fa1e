import { recordFigure } from "@hearth-and-keep/figures";
import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import type { TestModelOptions } from "../test/prepared-models.ts";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";

const maxError = 0.15;
const smol = "smollm2-135m-instruct-q4_1.gguf";
const minilm = "all-minilm-l6-v2-f32.gguf";
const tiny = "tiny-llama.gguf";

type Case = {
  readonly file: TestModelOptions["file"];
  readonly use: "generate" | "embed";
  readonly contextTokens: number;
  readonly sequences: number;
  /** Too little for the whole context, unless the cache is quantized. */
  readonly memoryBudgetBytes?: number;
};

const cases: readonly Case[] = [
  { file: tiny, use: "generate", contextTokens: 512, sequences: 1 },
  { file: tiny, use: "generate", contextTokens: 4096, sequences: 8 },
  { file: smol, use: "generate", contextTokens: 512, sequences: 1 },
  { file: smol, use: "generate", contextTokens: 2048, sequences: 4 },
  { file: smol, use: "generate", contextTokens: 8192, sequences: 8 },
  { file: smol, use: "generate", contextTokens: 8192, sequences: 1, memoryBudgetBytes: 520_000_000 },
  { file: smol, use: "embed", contextTokens: 2048, sequences: 1 },
  { file: minilm, use: "embed", contextTokens: 512, sequences: 1 },
];

async function post({ url }: TestServer, path: string, body: object): Promise<void> {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
  expect(response.status, await response.text()).toBe(200);
}

/** Uses every sequence at once, with prompts that fill more than one batch. */
async function useModel(server: TestServer, { use, contextTokens, sequences }: Case): Promise<void> {
  const text = "word and ".repeat(Math.min(contextTokens / 2 - 50, 400 / sequences));
  const options = { num_ctx: contextTokens, num_predict: 16, seed: 1 };
  const model = "m";
  if (use === "embed") return post(server, "/api/embed", { model, input: text, options });
  await Promise.all(
    Array.from({ length: sequences }, (_none, index) =>
      post(server, "/api/generate", { model, prompt: `${index} ${text}`, raw: true, stream: false, options }),
    ),
  );
}

/** The most memory that any process of the model has had. */
function readPeakBytes(): number {
  const peaks = descendantsOf(process.pid).map((pid) => {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/mu.exec(readProcessFile(pid, "status")) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  });
  return Math.max(...peaks);
}

const errors: number[] = [];

test.each(cases)(
  "the memory of a model is counted within 15 % of its peak: $file, $use, $contextTokens tokens, $sequences sequences",
  async (each) => {
    const { contextTokens, sequences, memoryBudgetBytes } = each;
    const limits = { contextTokens, sequences, ...(memoryBudgetBytes && { memoryBudgetBytes }) };
    await using server = await startTestServer({ models: { m: { file: each.file } }, limits });
    await useModel(server, each);
    const [running] = server.scheduler.running();
    expect(running).toMatchObject({ contextTokens: each.contextTokens });
    const peakBytes = readPeakBytes();
    const error = (running?.memoryBytes ?? 0) / peakBytes - 1;
    const [counted, measured] = [running?.memoryBytes ?? 0, peakBytes].map((bytes) =>
      Math.round(bytes / 1e6),
    );
    errors.push(error);
    expect(Math.abs(error), `${counted} MB counted, ${measured} MB measured`).toBeLessThanOrEqual(maxError);
  },
  120_000,
);

test("the largest error is reported", () => {
  expect(errors).toHaveLength(cases.length);
  const largest = Math.max(...errors.map(Math.abs));
  recordFigure({
    claim: "guard 9",
    text: `M7: memory of ${cases.length} of ${cases.length} loads counted within ${(largest * 100).toFixed(1)} % of the measured peak`,
    counted: { reached: errors.filter((error) => Math.abs(error) <= maxError).length, needed: cases.length },
  });
});
