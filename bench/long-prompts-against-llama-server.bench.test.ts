import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import {
  makeTemporaryFolder,
  replaceHeaderInteger,
  type TemporaryFolder,
  testModel,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sentence } from "./engine-under-test.ts";
import { oneBillionModel } from "./one-billion-model.ts";
import { compare, lowerBound } from "./rounds.ts";
import { presentProgram, startWithFile, timeStream } from "./served.ts";
import { startYardstick, yardstick } from "./yardstick.ts";

const contextTokens = 16_384;
const tokensPerSentence = 10;
const bound = 0.97;

let folder: TemporaryFolder;
let longContextModel: string;

/** SmolLM2 was trained on 8,192 tokens; the speed of reading does not depend on what it understands. */
beforeAll(async () => {
  folder = await makeTemporaryFolder("long-prompts");
  longContextModel = join(folder.path, "long-context.gguf");
  const bytes = await readFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
  replaceHeaderInteger(bytes, "llama.context_length", contextTokens);
  await writeFile(longContextModel, bytes);
});
afterAll(() => folder[Symbol.asyncDispose]());

let prompts = 0;

/** Tokens per second until the first token of the response. No two prompts have the same beginning. */
async function readPrompt(url: string, tokens: number): Promise<number> {
  prompts += 1;
  const prompt = `Text number ${prompts}. ${sentence.repeat(tokens / tokensPerSentence)}`;
  const body = { model: "model", prompt, max_tokens: 1, temperature: 0, stream: true };
  const { firstMilliseconds } = await timeStream(`${url}/v1/completions`, body);
  return (tokens * 1000) / firstMilliseconds;
}

type Case = { readonly model: "SmolLM2 135M" | "a model of the shape of 1B"; readonly tokens: number };

const small = [1000, 4000, 12_000].map((tokens): Case => ({ model: "SmolLM2 135M", tokens }));
const large = [1000, 4000].map((tokens): Case => ({ model: "a model of the shape of 1B", tokens }));

test.for(
  chooseSize({
    ci: small.slice(0, 1),
    show: [...small, ...large.slice(0, 1)],
    nightly: [...small, ...large],
  }),
)(
  "a prompt of $tokens tokens that is alone is read by $model as fast as by llama.cpp's own server",
  {
    timeout: 1_800_000,
  },
  async ({ model: name, tokens }) => {
    const model = name === "SmolLM2 135M" ? longContextModel : await oneBillionModel();
    const threads = availableParallelism();
    await using hearth = await startWithFile(presentProgram, model, { HEARTH_THREADS: String(threads) });
    await using server = await startYardstick({ model, contextTokens, threads });
    const { ratio, medians } = await compare(
      `long-prompts-${tokens}${model === longContextModel ? "" : "-1b"}`,
      { name: "Hearth", measure: () => readPrompt(hearth.url, tokens) },
      { name: "llama-server", measure: () => readPrompt(server.url, tokens) },
    );
    recordFigure({
      claim: "lean 4",
      text: `${ratio.toFixed(3)} of ${yardstick}, ${name}, ${tokens} tokens, ${threads} threads (${medians.map((each) => each.toFixed(0)).join(" against ")} tokens/s), needed ${bound}`,
    });
    expect(ratio).toBeGreaterThanOrEqual(lowerBound(bound));
  },
);
