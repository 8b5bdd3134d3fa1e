import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { minilm } from "../apps/hearth/src/test/start-test-server.ts";
import {
  type ClientFixture,
  cityParameters,
  cues,
  okSchema,
  recordCalls,
  rightKey,
  startClientFixture,
  tallyCalls,
  wrongKey,
} from "./client-fixture.ts";

// All endpoints except chat completions, which openai-npm.model.test.ts covers.

let fixture: ClientFixture;
let real: OpenAI;
let fake: OpenAI;
beforeAll(async () => {
  fixture = await startClientFixture({ "library2/mini:tag": minilm });
  real = connect(fixture.real.url, rightKey);
  fake = connect(fixture.fake.url, rightKey);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const model = "smol";
const completionOutcome = (more: object) =>
  real.completions.create({ model, prompt: "x", max_tokens: 1, ...more }).then(
    () => "succeeded",
    (error: APIError) => `${error.status} ${error.param}`,
  );
const embed = (input: OpenAI.EmbeddingCreateParams["input"], more: object = {}) =>
  real.embeddings.create({ model: "minilm", input, ...more });
const resultOf = ({ call_id }: OpenAI.Responses.ResponseFunctionToolCall) =>
  ({ type: "function_call_output", call_id, output: "warm" }) as const;

const endpoints: readonly [string, (client: OpenAI) => Promise<unknown>][] = [
  ["GET /v1/models", async (client) => client.models.list()],
  ["GET /v1/models/*", async (client) => client.models.retrieve("smol:latest")],
  [
    "POST /v1/completions",
    async (client) => client.completions.create({ model, prompt: "One", max_tokens: 4 }),
  ],
  ["POST /v1/embeddings", async (client) => client.embeddings.create({ model: "minilm", input: "a" })],
  [
    "POST /v1/responses",
    async (client) => client.responses.create({ model, input: "Hello", max_output_tokens: 4 }),
  ],
];

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    const keyless = new OpenAI({
      baseURL: `${fixture.real.url}/v1`,
      apiKey: "none",
      maxRetries: 0,
      defaultHeaders: { Authorization: null },
    });
    for (const client of [keyless, connect(fixture.real.url, wrongKey)]) {
      const rejected = await call(client).catch((error: unknown) => error);
      expect(rejected).toBeInstanceOf(AuthenticationError);
      expect(rejected).toMatchObject({ status: 401, code: "invalid_api_key" });
    }
    await call(real);
  },
);

describe("models", () => {
  test("models.list and models.retrieve return local models, including names with slashes and colons", async () => {
    const listed = await Array.fromAsync(real.models.list());
    expect(listed.map(({ id }) => id).toSorted()).toEqual([
      "library2/mini:tag",
      "minilm:latest",
      "smol:latest",
      "tiny:latest",
    ]);
    expect(listed.every(({ object, owned_by }) => object === "model" && owned_by === "local")).toBe(true);
    const one = await real.models.retrieve("library2/mini:tag");
    expect(one).toMatchObject({ id: "library2/mini:tag", object: "model", owned_by: "local" });
    expect(Math.abs(one.created - Date.now() / 1000)).toBeLessThan(3600);
    const headers = { Authorization: `Bearer ${rightKey}` };
    const unescaped = await fetch(`${fixture.real.url}/v1/models/library2/mini:tag`, { headers });
    expect(await unescaped.json()).toEqual(JSON.parse(JSON.stringify(one)));
    expect(await real.models.retrieve("library/smol:latest")).toMatchObject({ owned_by: "local" });
    for (const unknown of ["unknown", "no/body:here"]) {
      await expect(real.models.retrieve(unknown)).rejects.toBeInstanceOf(NotFoundError);
    }
  });

  test("bug 36: a model includes its context length", async () => {
    expect(await real.models.retrieve("smol")).toMatchObject({
      // What the test server allows, and what the model was trained on.
      context_length: 1024,
      meta: { n_ctx: 1024, n_ctx_train: 8192 },
      capabilities: ["completion"],
    });
  });
});

describe("completions on real weights", () => {
  test("a completion continues its prompt, echoes it, streams, and fills in a suffix", async () => {
    const request = { model, prompt: "One two three", max_tokens: 8, temperature: 0 };
    const complete = await real.completions.create(request);
    expect(complete).toMatchObject({ object: "text_completion", usage: { completion_tokens: 8 } });
    expect(complete.id).toMatch(/^cmpl-/u);
    const echoed = await real.completions.create({ ...request, echo: true });
    expect(echoed.choices[0]?.text).toBe(`One two three${complete.choices[0]?.text}`);
    const chunks = await Array.fromAsync(await real.completions.create({ ...request, stream: true }));
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(complete.choices[0]?.text);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
    const filled = await real.completions.create({ ...request, model: "tiny", suffix: "five" });
    expect(filled.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test("a list of prompts has a choice for each, with log-probabilities", async () => {
    const prompt = ["One two", "A b"];
    const response = await real.completions.create({ model, prompt, max_tokens: 2, logprobs: 1, n: 2 });
    expect(response.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    for (const { text, logprobs } of response.choices) {
      expect(logprobs?.tokens?.join("")).toBe(text);
      expect(logprobs?.text_offset?.[0]).toBe(0);
      expect(logprobs?.token_logprobs).toHaveLength(2);
    }
  });

  test("unsupported completions are rejected with a message: suffix without the capability, best_of, tokens, no prompt", async () => {
    expect(await completionOutcome({})).toBe("succeeded");
    expect(await completionOutcome({ suffix: "y" })).toBe("400 null");
    expect(await completionOutcome({ suffix: "" })).toBe("succeeded");
    expect(await completionOutcome({ best_of: 3 })).toBe("400 best_of");
    expect(await completionOutcome({ best_of: 1 })).toBe("succeeded");
    expect(await completionOutcome({ prompt: [1, 2] })).toBe("400 prompt");
    expect(await completionOutcome({ prompt: "" })).toBe("400 prompt");
    expect(await completionOutcome({ echo: true, logprobs: 1 })).toBe("400 echo");
  });
});

describe("embeddings on real weights", () => {
  test("bug 30: embeddings in the client's base64 encoding equal those in floats", async () => {
    const input = ["Hello", "A longer text"];
    const encoded = await embed(input);
    const floats = await embed(input, { encoding_format: "float" });
    expect(encoded.data.map(({ embedding }) => embedding.length)).toEqual([384, 384]);
    for (const [index, { embedding }] of encoded.data.entries()) {
      expect(Array.from(embedding)).toEqual(floats.data[index]?.embedding);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
    }
    expect(encoded.usage.prompt_tokens).toBeGreaterThan(2);
  });

  test("fewer dimensions are the first ones, normalized; more than the model has are rejected", async () => {
    const [short] = (await embed("Hello", { dimensions: 64 })).data;
    expect(short?.embedding).toHaveLength(64);
    expect(Math.hypot(...(short?.embedding ?? []))).toBeCloseTo(1, 5);
    const more = embed("Hello", { dimensions: 385 });
    await expect(more).rejects.toMatchObject({ status: 400, param: "dimensions" });
  });

  test("bug 29: token ids are rejected with a helpful message", async () => {
    for (const input of [[1, 2], [[1, 2]]]) {
      const rejected = await embed(input).catch((error: unknown) => error);
      expect(rejected).toBeInstanceOf(BadRequestError);
      expect(rejected).toMatchObject({
        status: 400,
        message: expect.stringContaining("check_embedding_ctx_length=False"),
      });
    }
  });

  test("a text longer than the context of an embedding model is rejected with the code, not truncated", async () => {
    const long = embed("word ".repeat(1000));
    await expect(long).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
  });
});

describe("responses", () => {
  const request = { model, input: "Count from one to nine", temperature: 0, max_output_tokens: 8 };

  test("real weights give the same response complete and streamed, truncated at the limit, the second from the cache", async () => {
    const complete = await real.responses.create(request);
    expect(complete).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      usage: { output_tokens: 8 },
    });
    expect(complete.output_text).not.toBe("");
    const streamed = await real.responses.stream(request).finalResponse();
    expect(streamed.output_text).toBe(complete.output_text);
    expect(streamed.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
    const named = await real.responses.create({
      ...request,
      instructions: "Be brief",
      reasoning: { effort: "low" },
    });
    expect(named.usage?.input_tokens).toBeGreaterThan(0);
  });

  test("real weights match a schema, which the client parses", async () => {
    const format = { type: "json_schema" as const, name: "verdict", schema: okSchema, strict: true };
    const parsed = await real.responses.parse({ ...request, max_output_tokens: 16, text: { format } });
    expect(parsed.output_parsed).toEqual({ ok: expect.any(Boolean) });
  });

  test("real weights match a schema with a fixed choice, and a call is required of a model without tools", async () => {
    const schema = {
      type: "object",
      properties: { colour: { enum: ["red", "blue"] } },
      required: ["colour"],
      additionalProperties: false,
    };
    const response = await real.responses.create({
      model,
      input: "Name a colour",
      max_output_tokens: 16,
      text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
    });
    expect(["red", "blue"]).toContain(JSON.parse(response.output_text).colour);
    const called = await real.responses.create({
      model,
      input: "Paint it",
      tools: [{ type: "function", name: "paint", parameters: schema, strict: true }],
      tool_choice: { type: "function", name: "paint" },
    });
    expect(called.output).toMatchObject([{ type: "function_call", name: "paint", status: "completed" }]);
  });

  test("a response that was not stored cannot be continued", async () => {
    const { id } = await real.responses.create({ ...request, max_output_tokens: 1 });
    const next = real.responses.create({ ...request, previous_response_id: id });
    await expect(next).rejects.toBeInstanceOf(BadRequestError);
  });

  const weather = { type: "function", name: "weather", parameters: cityParameters, strict: true } as const;
  const userMessage = { role: "user", content: "What weather?" } as const;
  const onFakeEngine = { model: "tiny", input: [userMessage], tools: [weather] };

  test("reasoning and two calls are items, complete and streamed, and their results lead to a response", async () => {
    const complete = await fake.responses.create(onFakeEngine);
    expect(complete.output.map(({ type }) => type)).toEqual(["reasoning", "function_call", "function_call"]);
    const streamed = await fake.responses.stream(onFakeEngine).finalResponse();
    const calls = streamed.output.filter((item) => item.type === "function_call");
    expect(calls.map(({ parsed_arguments }) => parsed_arguments)).toEqual([
      { city: "Rome" },
      { city: "Oslo" },
    ]);
    const items = complete.output.filter(
      (item) => item.type === "reasoning" || item.type === "function_call",
    );
    const input = [userMessage, ...items, ...calls.map(resultOf)];
    const response = await fake.responses.create({ ...onFakeEngine, input });
    expect(response).toMatchObject({ status: "completed", output_text: "It is sunny" });
    const none = await fake.responses.create({ ...onFakeEngine, tool_choice: "none" });
    expect(none.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
  });

  test("calls are parsed, and sent back without their ids they lead to a response", async () => {
    const parsed = await fake.responses.parse(onFakeEngine);
    const calls = parsed.output.filter((item) => item.type === "function_call");
    expect(calls.map(({ parsed_arguments }) => parsed_arguments)).toEqual([
      { city: "Rome" },
      { city: "Oslo" },
    ]);
    const items = calls.map(
      ({ call_id, name, arguments: text }) =>
        ({ type: "function_call", call_id, name, arguments: text }) as const,
    );
    const input = [userMessage, ...items, ...calls.map(resultOf)];
    const response = await fake.responses.create({ ...onFakeEngine, input });
    expect(response.output_text).toBe("It is sunny");
  });

  test("an unknown model and a required call without tools throw their error classes", async () => {
    const unknown = fake.responses.create({ model: "missing", input: "Hello" });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
    const required = fake.responses.create({ model: "tiny", input: "Hello", tool_choice: "required" });
    await expect(required).rejects.toBeInstanceOf(BadRequestError);
  });

  test("an engine failure is thrown, and so is one mid-stream, also by the stream helper", async () => {
    const broken = fake.responses.create({ model: "tiny", input: cues.breakAtOnce });
    await expect(broken).rejects.toBeInstanceOf(InternalServerError);
    const halfway = { model: "tiny", input: cues.breakHalfway };
    const stream = await fake.responses.create({ ...halfway, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(APIError);
    const helper = fake.responses.stream(halfway);
    await expect(helper.finalResponse()).rejects.toBeInstanceOf(APIError);
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 61;
  const expected = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(expected);
  recordCalls("npm openai", tallyCalls(fixture), calls);
});
