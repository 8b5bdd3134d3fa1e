import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { type LlamaServer, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";
import { type GeneratedSchema, generateSchema } from "./test/generated-schema.ts";
import { makeValidator } from "./test/create-validator.ts";

type Task = { readonly seed: number; readonly generated: GeneratedSchema };
type Outcome = {
  readonly seed: number;
  readonly hasEnded: boolean;
  readonly text: string;
  readonly isValid: boolean;
};

const slots = 4;
const schemas = chooseSize({ ci: 40, show: 200, nightly: 1000 });
/** Every feature must appear in so many of the schemas. */
const leastOfEach = schemas / 5;
const quotationMark = '"';

beforeAll(async () => {
  await testModel("tiny-llama.gguf");
}, 900_000);

test("what a model of random weights writes within our grammars validates, whenever it ends by itself", {
  timeout: 900_000,
}, async () => {
  await using server = await startLlamaServer({
    model: await testModel("tiny-llama.gguf"),
    contextTokens: 1536,
    parallelSlots: slots,
  });
  const generated = new Map(
    Array.from({ length: schemas }, (_, index) => [index + 1, generateSchema(index + 1)]),
  );
  const features = countFeatures([...generated.values()]);
  const outcomes = await runAll(generated, (task) => complete(server, task));
  const ended = outcomes.filter(({ hasEnded }) => hasEnded);
  const valid = ended.filter(({ isValid }) => isValid);
  process.stdout.write(
    `${JSON.stringify(features)}\n${ended.length} of ${schemas} ended, ${valid.length} of those valid\n`,
  );
  expect(Math.min(...Object.values(features))).toBeGreaterThanOrEqual(leastOfEach);
  expect(ended.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(ended.length).toBeGreaterThanOrEqual(schemas * 0.75);
  recordFigure({
    claim: "engine 9",
    text: `${ended.length} of ${schemas} outputs of random weights ended by themselves, ${valid.length} of them valid; schemas with ${JSON.stringify(features)}`,
    counted: { reached: valid.length, needed: Math.max(ended.length, schemas * 0.75) },
  });
});

test("what SmolLM2 writes within our grammars validates, whenever it ends by itself", {
  timeout: 900_000,
}, async () => {
  await using server = await startLlamaServer({
    model: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    contextTokens: 512,
    parallelSlots: slots,
  });
  const generated = new Map(
    Array.from({ length: 20 }, (_, index) => [index + 1001, generateSchema(index + 1001)]),
  );
  const outcomes = await runAll(generated, (task) => complete(server, task));
  const ended = outcomes.filter(({ hasEnded }) => hasEnded);
  process.stdout.write(`${ended.length} of ${generated.size} outputs of SmolLM2 ended\n`);
  expect(ended.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(ended.length).toBeGreaterThanOrEqual(generated.size / 2);
  recordFigure({
    claim: "engine 9",
    text: `${ended.length} of ${generated.size} outputs of SmolLM2 ended by themselves, all of them valid`,
    counted: { reached: ended.length, needed: generated.size / 2 },
  });
});

function countFeatures(generated: readonly GeneratedSchema[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const feature of generated.flatMap(({ features }) => [...features])) {
    counts[feature] = (counts[feature] ?? 0) + 1;
  }
  return counts;
}

/** Keeps every slot of the server busy. */
async function runAll(
  generated: ReadonlyMap<number, GeneratedSchema>,
  run: (task: Task) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const waiting = [...generated].map(([seed, schema]): Task => ({ seed, generated: schema }));
  const outcomes: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let task = waiting.pop(); task !== undefined; task = waiting.pop()) outcomes.push(await run(task));
  };
  await Promise.all(Array.from({ length: slots }, work));
  return outcomes;
}

async function complete(server: LlamaServer, { seed, generated }: Task): Promise<Outcome> {
  const grammar = grammarForSchema(generated.schema);
  const answer = await post(server, "/completion", {
    prompt: "Write the JSON document: ",
    grammar,
    n_predict: server.model.startsWith("tiny") ? 1200 : 200,
    temperature: 0.9,
    seed,
    cache_prompt: false,
    // Random weights hardly ever close a string of any length; the grammar decides what is valid all the same.
    logit_bias: [[quotationMark, 2]],
  });
  // The fields llama.cpp documents for this address.
  const { content, stop_type } = answer as { content: string; stop_type: string };
  const hasEnded = stop_type === "eos";
  return { seed, hasEnded, text: content, isValid: hasEnded && isValidText(content, { generated, grammar }) };
}

type Judging = { readonly generated: GeneratedSchema; readonly grammar: string };

/** By the validator, and by our own reader of grammars, which must agree with llama.cpp's. */
function isValidText(text: string, { generated, grammar }: Judging): boolean {
  return makeValidator(generated.schema)(readJson(text)) && acceptsText(checkGrammar(grammar), text);
}

/** Undefined for what is no JSON, which no schema accepts. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function post(server: LlamaServer, path: string, request: object): Promise<unknown> {
  const answer = await fetch(`${server.url}${path}`, {
    method: "POST",
    // On a busy machine a connection that waited may be closed at the moment it is used again.
    headers: { connection: "close" },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(120_000),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}
