import type { Engine, EngineRequest, GenerationEnd, LoadPlan } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { preparedWorker, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const never = new AbortController().signal;
const records = ["apple", "bread", "cheese", "date", "egg", "flour"].map(
  (name, index) => `{"name": "${name}", "price": ${index + 1}, "in_stock": true, "shelf": "north side"}`,
);
const prompt = `<|im_start|>user\nRepeat these lines exactly:\n${records.join("\n")}<|im_end|>\n<|im_start|>assistant\n${records.slice(0, 2).join("\n")}\n`;

function request(changes: Partial<EngineRequest> = {}): EngineRequest {
  return {
    input: { type: "raw", prompt },
    sampling: greedySampling,
    maxTokens: 64,
    cachePartition: "one",
    ...changes,
  };
}

type Output = { readonly text: string; readonly tokens: readonly number[]; readonly end: GenerationEnd };

async function run(engine: Engine, sent: EngineRequest): Promise<Output> {
  const events = await Array.fromAsync(engine.generate(sent, never));
  const end = events.at(-1);
  if (end?.type !== "generation-end") throw new Error("Cannot find the end of the output");
  const deltas = events.filter((event) => event.type === "text-delta");
  return {
    text: deltas.map(({ text }) => text).join(""),
    tokens: deltas.flatMap((delta) => delta.tokens ?? []).map(({ token }) => token),
    end,
  };
}

async function load(changes: Partial<LoadPlan>): Promise<Engine> {
  return createLlamaDriver(await preparedWorker()).load(
    {
      modelPath: await testModel("smollm2-135m-instruct-q4_1.gguf"),
      contextTokens: 512,
      sequences: 2,
      threads: 1,
      gpuLayers: 0,
      purpose: "generate",
      ...changes,
    },
    { signal: never, onProgress: () => undefined },
  );
}

let guessing: Engine;
let plain: Engine;
beforeAll(async () => {
  guessing = await load({ speculation: "auto" });
  plain = await load({});
  // The first batches measure what a batch costs.
  await run(guessing, request());
}, 60_000);
afterAll(async () => {
  await guessing.unload();
  await plain.unload();
});

const schema = {
  type: "object",
  properties: { name: { type: "string" }, price: { type: "integer" }, in_stock: { type: "boolean" } },
  required: ["name", "price", "in_stock"],
  additionalProperties: false,
} as const;

test.each<readonly [string, Partial<EngineRequest>]>([
  ["the most likely tokens", {}],
  ["a seed", { sampling: { ...greedySampling, temperature: 0.7, topP: 0.95, seed: 7 } }],
  ["penalties", { sampling: { ...greedySampling, repeatPenalty: 1.05, frequencyPenalty: 0.02 } }],
  ["log-probabilities", { logProbabilities: 2 }],
  ["a grammar", { constraint: { type: "gbnf", grammar: 'root ::= (["a-z{}:, _0-9\\n])*' } }],
  ["a schema", { constraint: { type: "json-schema", schema } }],
  ["a short output", { maxTokens: 17 }],
])("guesses change nothing about the output with %s", async (_what, changes) => {
  const expected = await run(plain, request(changes));
  const actual = await run(guessing, request(changes));
  expect(actual.text).toBe(expected.text);
  expect(actual.tokens).toEqual(expected.tokens);
  expect(actual.end.reason).toBe(expected.end.reason);
  expect(actual.end.usage.outputTokens).toBe(expected.end.usage.outputTokens);
  expect(expected.end.usage.guessedTokens).toBeUndefined();
});

/** When and how much is guessed depends on the time that batches take, so the guesses of several outputs count. */
test("most guesses are right where the output repeats the prompt, and they are counted", async () => {
  let [guessed, accepted] = [0, 0];
  for (let outputs = 0; outputs < 40 && (guessed < 60 || accepted <= 0.5 * guessed); outputs += 1) {
    const { usage } = (await run(guessing, request())).end;
    expect(usage.acceptedTokens ?? 0).toBeLessThan(usage.outputTokens);
    guessed += usage.guessedTokens ?? 0;
    accepted += usage.acceptedTokens ?? 0;
  }
  expect(accepted).toBeGreaterThan(0.5 * guessed);
}, 60_000);

test("an output that is cancelled among right guesses leaves a sequence that the next request can use", async () => {
  for (let tries = 0; tries < 4; tries += 1) {
    const abort = new AbortController();
    let deltas = 0;
    const cancelled = (async () => {
      for await (const event of guessing.generate(request(), abort.signal)) {
        if (event.type === "text-delta") deltas += 1;
        if (deltas > tries) abort.abort();
      }
    })();
    await expect(cancelled).rejects.toThrow("aborted");
  }
  const { text } = await run(plain, request());
  const next = await run(guessing, request({ input: { type: "raw", prompt: prompt + text.slice(0, 40) } }));
  expect(next.text.startsWith(text.slice(40, 120))).toBe(true);
  expect(next.end.usage.cachedTokens).toBeGreaterThan(100);
});

test("an output of the whole context ends at its end", async () => {
  // One token again and again, because a bias against the end of a turn has no effect.
  const endless = request({
    input: { type: "raw", prompt: "one, two, three, four, ".repeat(50) },
    sampling: { ...greedySampling, logitBias: new Map([[1000, 100]]) },
    maxTokens: 5000,
  });
  const [actual, expected] = [await run(guessing, endless), await run(plain, endless)];
  expect(actual.end.reason).toBe("length");
  expect(actual.text).toBe(expected.text);
  expect(actual.end.usage.outputTokens).toBe(expected.end.usage.outputTokens);
});

test("beside another stream nothing is guessed, and both outputs stay the same", async () => {
  const other = request({ input: { type: "raw", prompt: "Once upon a time" }, cachePartition: "two" });
  const expected = [await run(plain, request()), await run(plain, other)];
  const actual = await Promise.all([run(guessing, request()), run(guessing, other)]);
  expect(actual.map(({ text }) => text)).toEqual(expected.map(({ text }) => text));
});
