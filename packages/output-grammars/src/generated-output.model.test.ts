import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { type LlamaServer, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { grammarForSchema } from "./schema-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";
import { createValidator } from "./test/create-validator.ts";
import { type GeneratedSchema, generateSchema } from "./test/generated-schema.ts";

type Task = { readonly seed: number; readonly generated: GeneratedSchema };
type Outcome = {
  readonly seed: number;
  readonly hasFinished: boolean;
  readonly text: string;
  readonly isValid: boolean;
};

const slots = 4;
const schemas = chooseSize({ ci: 20, show: 200, nightly: 1000 });
/** SmolLM2 takes seconds for each. */
const slowSchemas = chooseSize({ ci: 2, show: 20, nightly: 20 });
/** Every feature must appear in at least this many of the schemas. */
const minPerFeature = schemas / 5;
const quotationMark = '"';

beforeAll(async () => {
  await testModel("tiny-llama.gguf");
}, 900_000);

test("output of a model with random weights under our grammars is valid whenever it finishes on its own", {
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
  const finished = outcomes.filter(({ hasFinished }) => hasFinished);
  const valid = finished.filter(({ isValid }) => isValid);
  process.stdout.write(
    `${JSON.stringify(features)}\n${finished.length} of ${schemas} finished, ${valid.length} of those valid\n`,
  );
  expect(Math.min(...Object.values(features))).toBeGreaterThanOrEqual(minPerFeature);
  expect(finished.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(finished.length).toBeGreaterThanOrEqual(schemas * 0.75);
  recordFigure({
    claim: "engine 9",
    text: `${finished.length} of ${schemas} outputs of random weights finished on their own, ${valid.length} of them valid; schemas with ${JSON.stringify(features)}`,
    counted: { reached: valid.length, needed: Math.max(finished.length, schemas * 0.75) },
  });
});

test("output of SmolLM2 under our grammars is valid whenever it finishes on its own", {
  timeout: 900_000,
}, async () => {
  await using server = await startLlamaServer({
    model: await testModel("smollm2-135m-instruct-q4_1.gguf"),
    contextTokens: 512,
    parallelSlots: slots,
  });
  const generated = new Map(
    Array.from({ length: slowSchemas }, (_, index) => [index + 1001, generateSchema(index + 1001)]),
  );
  const outcomes = await runAll(generated, (task) => complete(server, task));
  const finished = outcomes.filter(({ hasFinished }) => hasFinished);
  process.stdout.write(`${finished.length} of ${generated.size} outputs of SmolLM2 finished\n`);
  expect(finished.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(finished.length).toBeGreaterThanOrEqual(generated.size / 2);
  recordFigure({
    claim: "engine 9",
    text: `${finished.length} of ${generated.size} outputs of SmolLM2 finished on their own, all of them valid`,
    counted: { reached: finished.length, needed: generated.size / 2 },
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
  const queue = [...generated].map(([seed, schema]): Task => ({ seed, generated: schema }));
  const outcomes: Outcome[] = [];
  const runNext = async (): Promise<void> => {
    for (let task = queue.pop(); task !== undefined; task = queue.pop()) outcomes.push(await run(task));
  };
  await Promise.all(Array.from({ length: slots }, runNext));
  return outcomes;
}

async function complete(server: LlamaServer, { seed, generated }: Task): Promise<Outcome> {
  const grammar = grammarForSchema(generated.schema, "strict");
  const response = await post(server, "/completion", {
    prompt: "Write the JSON document: ",
    grammar,
    n_predict: server.model.startsWith("tiny") ? 1200 : 200,
    temperature: 0.9,
    seed,
    cache_prompt: false,
    // Random weights rarely close an unbounded string; the grammar still decides what is valid.
    logit_bias: [[quotationMark, 2]],
  });
  // The fields that llama.cpp documents for this endpoint.
  const { content, stop_type } = response as { content: string; stop_type: string };
  const hasFinished = stop_type === "eos";
  return {
    seed,
    hasFinished,
    text: content,
    isValid: hasFinished && isValidText(content, { generated, grammar }),
  };
}

type ValidationContext = { readonly generated: GeneratedSchema; readonly grammar: string };

/** Checks with the validator, and with our own grammar recognizer, which must agree with llama.cpp. */
function isValidText(text: string, { generated, grammar }: ValidationContext): boolean {
  return createValidator(generated.schema)(parseJson(text)) && acceptsText(checkGrammar(grammar), text);
}

/** Undefined for invalid JSON, which no schema accepts. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function post(server: LlamaServer, path: string, request: object): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    // On a busy machine, an idle connection may be closed just when it is reused.
    headers: { connection: "close" },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(120_000),
  });
  expect(response.status).toBe(200);
  return response.json();
}
