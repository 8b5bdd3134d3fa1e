import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parameterNames } from "../../apps/hearth/src/models/metadata/model-parameters.ts";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { workerProcesses } from "../../bench/worker-processes.ts";
import { findShapeFault } from "./error-shape.ts";
import { rowsWithBody } from "./valid-bodies.ts";

const runs = chooseSize({ ci: 600, show: 2000, nightly: 20_000 });
const seed = 18;
const maxSeconds = 120;
/** What the model was trained on; a loaded context of this size is never reloaded for a larger one. */
const contextTokens = 16_384;
/** Its worker may be unloaded by a `keep_alive`; the worker of the other model must survive everything. */
const models = { tiny, spare: { ...tiny, extras: { template: "{{ .Prompt }}" } } };

/** As JSON text, because JavaScript would round some and cannot write others. */
const hostileNumbers: readonly string[] = [
  ..."-9223372036854775808 9223372036854775807 -2147483649 2147483648 4294967296 9007199254740991".split(" "),
  ..."-9007199254740991 18446744073709551616 1e308 -1e308 1e999 5e-324 -2 -1 -0 0 0.5 1 2 64 128".split(" "),
  ...'129 1000001 -0.0001 1.0000001 NaN Infinity null true "1" "" "NaN" [] [1] [[1e308]] {} {"a":1}'.split(
    " ",
  ),
];

const letters = "abcdefgh";
const mebibyte = 1024 ** 2;

/** Named, so that a failure prints a name and not a text of a megabyte. */
const largeStops: Readonly<Record<string, () => string>> = {
  "10,000 stops": () => JSON.stringify(Array.from({ length: 10_000 }, (_none, index) => `stop ${index}`)),
  "10,000 equal stops": () => JSON.stringify(Array.from({ length: 10_000 }, () => "stop")),
  "10,000 empty stops": () => JSON.stringify(Array.from({ length: 10_000 }, () => "")),
  "64 long stops": () =>
    JSON.stringify(Array.from({ length: 64 }, (_none, index) => `${index}${"a".repeat(1000)}`)),
  "a stop of 1 MiB": () => JSON.stringify("a".repeat(mebibyte)),
};

const biases: Readonly<Record<string, () => string>> = {
  "huge biases": () => '{"0":1e308,"1":-1e308,"2":1e999}',
  "large biases": () => '{"0":100,"1":-100,"2":0}',
  "biases of unknown tokens": () => '{"99999999":100,"999999999":-100}',
  "biases of no tokens": () => '{"-1":1,"1.5":1,"":1}',
  "1,024 banned tokens": () =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 1024 }, (_none, index) => [index, -100]))),
  "10,000 biases": () =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_none, index) => [index, 1]))),
};

/** JSON Schemas, from which grammars are made. */
const grammars: Readonly<Record<string, () => object>> = {
  "a string of 1 MiB": () => ({ const: letters.repeat(mebibyte / 8) }),
  "an enum of 1 MiB": () => ({
    enum: Array.from({ length: 32_768 }, (_none, index) => `value ${index} ${letters.repeat(2)}`),
  }),
  "a pattern of 1 MiB": () => ({ type: "string", pattern: `^(${"abcdefg|".repeat(mebibyte / 8)}z)$` }),
  "a property name of 1 MiB": () => ({
    type: "object",
    properties: { [letters.repeat(mebibyte / 8)]: { type: "integer" } },
  }),
  "numbers beyond all bounds": () => ({ type: "integer", minimum: -(2 ** 63), maximum: 1e308 }),
  "billions of characters": () => ({ type: "string", minLength: 2 ** 31, maxLength: 2 ** 63 }),
  "a small schema": () => ({ type: "boolean" }),
};

type Value = { readonly name: string; readonly text: () => string };
type Field = {
  /** The path of names in the body, with dots. */
  readonly at: string;
  readonly values: fc.Arbitrary<Value>;
  readonly examples: readonly Value[];
};

const literal = (text: string): Value => ({ name: text, text: () => text });
const named = (texts: Readonly<Record<string, () => string>>): readonly Value[] =>
  Object.entries(texts).map(([name, text]) => ({ name, text }));

const numberValues: fc.Arbitrary<Value> = fc
  .oneof(
    { weight: 4, arbitrary: fc.constantFrom(...hostileNumbers) },
    { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
    { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String) },
    // Those that a range allows reach the engine.
    { weight: 2, arbitrary: fc.integer({ min: -3, max: 200 }).map(String) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 2, noNaN: true }).map(String) },
  )
  .map(literal);

/** Consecutive fields have different examples, so that all numbers occur somewhere. */
function numberField(at: string, index: number): Field {
  const examples = [0, 1].map((step) =>
    literal(hostileNumbers[(2 * index + step) % hostileNumbers.length] ?? ""),
  );
  return { at, values: numberValues, examples };
}

function listField(at: string, values: readonly Value[]): Field {
  return { at, values: fc.oneof(fc.constantFrom(...values), numberValues), examples: values };
}

/** The keywords of a JSON Schema that define which values are numbers. */
type SchemaNode = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
};

function isForNumbers({ type, items, anyOf }: SchemaNode): boolean {
  const isNumber = type === "number" || type === "integer";
  return isNumber || (items !== undefined && isForNumbers(items)) || (anyOf ?? []).some(isForNumbers);
}

/** Every field that accepts numbers, and those of the objects in it, such as `options`. */
function numberPathsOf(schema: SchemaNode): readonly string[] {
  const objects = [schema, ...(schema.anyOf ?? [])];
  return objects
    .flatMap(({ properties }) => Object.entries(properties ?? {}))
    .flatMap(([name, inner]) =>
      isForNumbers(inner) ? [name] : numberPathsOf(inner).map((rest) => `${name}.${rest}`),
    );
}

type Endpoint = {
  readonly path: string;
  readonly body: object;
  /** The field that limits the output in a valid request, and all that can. */
  readonly limit: string;
  readonly limits: readonly string[];
  readonly fields: readonly Field[];
  readonly isComplete: (body: Fields) => boolean;
};

type Fields = Readonly<Record<string, unknown>>;
type Shape = Omit<Endpoint, "fields"> & {
  readonly stops: readonly string[];
  readonly hasBias?: true;
  /** Wraps a schema in the field that accepts one. */
  readonly format?: readonly [at: string, wrap: (schema: object) => object];
};

const prompt = "Once upon a time";
const messages = [{ role: "user", content: prompt }];
const fixed = { temperature: 0, seed: 1 };
const optionPaths = parameterNames.filter((name) => name !== "stop").map((name) => `options.${name}`);
const responseFormat = (schema: object) => ({ type: "json_schema", json_schema: { name: "s", schema } });
const hasChoices = ({ choices }: Fields): boolean => Array.isArray(choices) && choices.length > 0;

const shapes: readonly Shape[] = [
  {
    path: "/api/generate",
    body: { prompt, logprobs: true, stream: false, options: fixed },
    limit: "options.num_predict",
    limits: ["options.num_predict"],
    stops: ["options.stop"],
    format: ["format", (schema) => schema],
    isComplete: ({ done, response }) => done === true && typeof response === "string",
  },
  {
    path: "/api/chat",
    body: { messages, logprobs: true, stream: false, options: fixed },
    limit: "options.num_predict",
    limits: ["options.num_predict"],
    stops: ["options.stop"],
    format: ["format", (schema) => schema],
    isComplete: ({ done, message }) => done === true && typeof message === "object",
  },
  {
    path: "/v1/chat/completions",
    body: { messages, logprobs: true, ...fixed },
    limit: "max_tokens",
    limits: ["max_tokens", "max_completion_tokens", "options.num_predict"],
    stops: ["stop", "options.stop"],
    hasBias: true,
    format: ["response_format", responseFormat],
    isComplete: hasChoices,
  },
  {
    path: "/v1/completions",
    body: { prompt, ...fixed },
    limit: "max_tokens",
    limits: ["max_tokens", "options.num_predict"],
    stops: ["stop", "options.stop"],
    hasBias: true,
    isComplete: hasChoices,
  },
  {
    path: "/v1/messages",
    body: { messages, ...fixed },
    limit: "max_tokens",
    limits: ["max_tokens"],
    stops: ["stop", "stop_sequences"],
    format: ["output_config", (schema) => ({ format: { type: "json_schema", schema } })],
    isComplete: ({ type, content }) => type === "message" && Array.isArray(content),
  },
];

const endpoints: readonly Endpoint[] = shapes.map(({ stops, hasBias, format, ...shape }) => {
  const isOllama = shape.path.startsWith("/api/");
  const paths = [...numberPathsOf(rowOf(shape.path).bodySchema), ...(isOllama ? optionPaths : [])];
  const [formatPath = "grammar", wrap = (schema: object) => schema] = format ?? [];
  const formats = Object.entries(grammars).map(
    ([name, write]): Value => ({ name, text: () => JSON.stringify(wrap(write())) }),
  );
  return {
    ...shape,
    fields: [
      ...paths.map(numberField),
      ...stops.map((at) => listField(at, named(largeStops))),
      ...(hasBias === true ? [listField("logit_bias", named(biases))] : []),
      listField(formatPath, formats),
    ],
  };
});

function rowOf(path: string) {
  const row = rowsWithBody.find((each) => each.path === path);
  if (row === undefined) throw new Error(`Cannot find the route "${path}"`);
  return row;
}

type Change = { readonly at: string; readonly value: Value };
type Trial = { readonly endpoint: Endpoint; readonly changes: readonly Change[] };

const trials: fc.Arbitrary<Trial> = fc.constantFrom(...endpoints).chain((endpoint) =>
  fc
    .uniqueArray(
      fc
        .constantFrom(...endpoint.fields)
        .chain(({ at, values }) => fc.record({ at: fc.constant(at), value: values })),
      { minLength: 1, maxLength: 2, selector: ({ at }) => at },
    )
    .map((changes) => ({ endpoint, changes })),
);

/** Every field at least once, and every large value in each API. */
const exampleTrials: readonly Trial[] = endpoints.flatMap((endpoint) =>
  endpoint.fields.flatMap(({ at, examples }) =>
    examples.map((value) => ({ endpoint, changes: [{ at, value }] })),
  ),
);

function nameOf({ endpoint, changes }: Trial): string {
  return `${endpoint.path} with ${changes.map(({ at, value }) => `${at} = ${value.name}`).join(", ")}`;
}

/** A request whose limit is hostile is streamed, and aborted after its first bytes. */
function isEndless({ endpoint, changes }: Trial): boolean {
  return changes.some(({ at }) => endpoint.limits.includes(at));
}

function bodyOf(trial: Trial): string {
  const { endpoint, changes } = trial;
  const isUnloaded = changes.some(({ at }) => at === "keep_alive");
  const base = { model: isUnloaded ? "spare" : "tiny", ...endpoint.body };
  const limited = isEndless(trial) ? { ...base, stream: true } : setAt(base, endpoint.limit, 2);
  const body = changes.reduce<object>(
    (fields, { at }, index) => setAt(fields, at, placeholder(index)),
    limited,
  );
  return changes.reduce(
    (text, { value }, index) => text.replace(JSON.stringify(placeholder(index)), value.text),
    JSON.stringify(body),
  );
}

const placeholder = (index: number): string => `placeholder of value ${index}`;

function setAt(body: object, at: string, value: unknown): object {
  const [first = "", ...rest] = at.split(".");
  if (rest.length === 0) return { ...body, [first]: value };
  const inner: unknown = Object.entries(body).find(([name]) => name === first)?.[1];
  const fields = typeof inner === "object" && inner !== null ? inner : {};
  return { ...body, [first]: setAt(fields, rest.join("."), value) };
}

type Outcome = "answered" | "aborted" | "rejected" | "busy";

/** Sends a request and throws unless the response is one that its API allows. */
async function run({ url }: TestServer, trial: Trial): Promise<Outcome> {
  const { endpoint } = trial;
  const abort = new AbortController();
  const response = await fetch(`${url}${endpoint.path}`, {
    method: "POST",
    body: bodyOf(trial),
    signal: AbortSignal.any([abort.signal, AbortSignal.timeout(maxSeconds * 1000)]),
  });
  if (response.ok && isEndless(trial)) {
    const { value } = (await response.body?.getReader().read()) ?? {};
    abort.abort();
    requireSound(trial, firstEventOf(Buffer.from(value ?? []).toString()));
    return "aborted";
  }
  const text = await response.text();
  if (response.ok) {
    const body = parse(text);
    requireSound(trial, text);
    if (body === undefined || !endpoint.isComplete(body))
      throw new Error(`not complete: ${text.slice(0, 300)}`);
    return "answered";
  }
  const contentType = response.headers.get("content-type") ?? "";
  const { status } = response;
  const fault = findShapeFault(rowOf(endpoint.path).protocol.name, { status, contentType, body: text });
  if (fault !== undefined) throw new Error(fault);
  if (status < 500) return "rejected";
  if ([503, 529].includes(status) && Number(response.headers.get("retry-after")) > 0) return "busy";
  throw new Error(`status ${status}: ${text.slice(0, 300)}`);
}

/** The JSON text of the first event: a line in the Ollama API, a `data:` line in the others. */
function firstEventOf(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/^data: /u, ""));
  return lines.find((line) => line.startsWith("{")) ?? text;
}

/** An error in a stream, whose status is already 200, and numbers that JSON cannot write are faults. */
function requireSound(trial: Trial, text: string): void {
  const body = parse(text);
  if (body === undefined || "error" in body || body["type"] === "error" || /"logprob":null/u.test(text)) {
    throw new Error(`${nameOf(trial)}: not a valid response: ${text.slice(0, 300)}`);
  }
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Any object has string keys.
    return typeof value === "object" && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** The output of a valid request. */
async function generate({ url }: TestServer, model: string): Promise<unknown> {
  const body = JSON.stringify({ model, prompt, stream: false, options: { ...fixed, num_predict: 16 } });
  const response = await fetch(`${url}/api/generate`, { method: "POST", body });
  // The route's own tests check the format.
  return ((await response.json()) as Fields)["response"];
}

test("no number, list or grammar in a request kills a worker or causes a server error", {
  timeout: 3_600_000,
}, async () => {
  await using server = await startTestServer({ models, limits: { contextTokens } });
  const outputBefore = await generate(server, "tiny");
  expect(outputBefore).toEqual(expect.stringMatching(/./u));
  const workersBefore = workerProcesses();
  expect(workersBefore).toHaveLength(1);
  const counts: Record<Outcome, number> = { answered: 0, aborted: 0, rejected: 0, busy: 0 };
  const property = fc.asyncProperty(trials, async (trial) => {
    const outcome = await run(server, trial).catch((error: unknown) => {
      throw new Error(nameOf(trial), { cause: error });
    });
    expect(workerProcesses(), nameOf(trial)).toEqual(expect.arrayContaining([...workersBefore]));
    counts[outcome] += 1;
  });
  const examples = exampleTrials.map((trial): [Trial] => [trial]);
  const numRuns = runs + examples.length;
  await fc.assert(property, { seed, numRuns, examples, reporter: reportTrial });
  // Aborted requests have freed their slots.
  await expect.poll(() => server.scheduler.queueLengths().filter(({ leases }) => leases > 0)).toEqual([]);
  expect(await generate(server, "tiny")).toBe(outputBefore);
  const defects = ["internal-error", "engine-crashed", "engine-hung", "model-quarantined"];
  expect(server.logRecords().filter(({ failure }) => defects.includes(String(failure)))).toEqual([]);
  const reached = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const answered = counts.answered + counts.aborted;
  const text = `M18: ${reached} requests with hostile numbers, lists and grammars in ${countFields()} fields of ${endpoints.length} endpoints (needed ${runs}): ${answered} answered, of which ${counts.aborted} were aborted after their first bytes, ${counts.rejected} rejected, ${counts.busy} busy; no other status, the worker survived and its output is the same`;
  process.stdout.write(`${text}\n`);
  recordFigure({ claim: "guard 9", text, counted: { reached, needed: runs } });
  expect(answered).toBeGreaterThan(0);
  expect(counts.rejected).toBeGreaterThan(0);
  expect(reached).toBe(numRuns);
});

function countFields(): number {
  return endpoints.reduce((sum, { fields }) => sum + fields.length, 0);
}

/** Names the smallest failing request instead of printing its values, of which some have a megabyte. */
function reportTrial({ failed, counterexample, errorInstance }: fc.RunDetails<[Trial]>): void {
  const [trial] = counterexample ?? [];
  if (failed) throw new Error(trial === undefined ? "no trial" : nameOf(trial), { cause: errorInstance });
}
