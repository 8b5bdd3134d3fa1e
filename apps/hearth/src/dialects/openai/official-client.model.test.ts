import OpenAI, { type APIError, NotFoundError } from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { minilm, smol, startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";

// The methods of the official client, on real weights.

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startTestServer({ models: { smol, tiny, minilm, "library2/mini:tag": minilm } });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "anything", maxRetries: 0 });
});
afterAll(() => server[Symbol.asyncDispose]());

const model = "smol";
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Count from one to nine" }];
const cityParameters = {
  type: "object",
  properties: { city: { type: "string", enum: ["Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: cityParameters,
  },
} as const;

test("models.list and models.retrieve return local models, including names with slashes and colons", async () => {
  const listed = await client.models.list();
  expect(listed.data.map(({ id }) => id).toSorted()).toEqual([
    "library2/mini:tag",
    "minilm:latest",
    "smol:latest",
    "tiny:latest",
  ]);
  expect(listed.data.every(({ object, owned_by }) => object === "model" && owned_by === "local")).toBe(true);
  const one = await client.models.retrieve("library2/mini:tag");
  expect(one).toMatchObject({ id: "library2/mini:tag", object: "model", owned_by: "local" });
  expect(Math.abs(one.created - Date.now() / 1000)).toBeLessThan(3600);
  const raw = await fetch(`${server.url}/v1/models/library2/mini:tag`);
  expect(await raw.json()).toEqual(JSON.parse(JSON.stringify(one)));
});

test("bug 36: a model includes its context length", async () => {
  expect(await client.models.retrieve("smol")).toMatchObject({
    context_length: 8192,
    capabilities: ["completion"],
  });
});

test("a chat completion has content and token usage", async () => {
  const response = await client.chat.completions.create({ model, messages, max_tokens: 8, temperature: 0 });
  expect(response).toMatchObject({ object: "chat.completion", model });
  expect(response.choices[0]?.message.content).toMatch(/\w/);
  expect(response.choices[0]?.finish_reason).toBe("length");
  expect(response.usage).toMatchObject({ completion_tokens: 8 });
  expect(response.usage?.total_tokens).toBe((response.usage?.prompt_tokens ?? 0) + 8);
});

const askWithSeed = async (body: object) =>
  (
    await client.chat.completions.create({
      model,
      messages,
      max_tokens: 10,
      temperature: 1,
      seed: 7,
      ...body,
    })
  ).choices[0];

test("the same seed gives the same output, and a stop sequence is not included", async () => {
  const first = await askWithSeed({});
  expect((await askWithSeed({}))?.message.content).toBe(first?.message.content);
  const stop = first?.message.content?.slice(4, 8) ?? "";
  const stopped = await askWithSeed({ stop });
  expect(stopped?.finish_reason).toBe("stop");
  expect(first?.message.content?.startsWith(stopped?.message.content ?? "-")).toBe(true);
  expect(stopped?.message.content).not.toContain(stop);
});

test("a stream adds up to the complete response and ends with its usage", async () => {
  const body = { model, messages, max_completion_tokens: 8, temperature: 0 };
  const whole = await client.chat.completions.create(body);
  const stream = await client.chat.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage;
  }
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(usage?.completion_tokens).toBe(8);
  const strict = client.chat.completions.stream(body);
  expect((await strict.finalChatCompletion()).choices[0]?.message.content).toBe(text);
});

test("two requested choices are returned, complete and streamed, and the prompt is counted once", async () => {
  const body = { model, messages, max_tokens: 4, seed: 1, n: 2 };
  const { choices, usage } = await client.chat.completions.create(body);
  expect(choices.map(({ index }) => index)).toEqual([0, 1]);
  expect(usage?.completion_tokens).toBe(8);
  const single = await client.chat.completions.create({ ...body, n: 1 });
  expect(usage?.prompt_tokens).toBe(single.usage?.prompt_tokens);
  const streamed = await client.chat.completions.stream(body).finalChatCompletion();
  expect(streamed.choices.map(({ message }) => message.content)).toEqual(
    choices.map(({ message }) => message.content),
  );
});

test("output matches a schema, and the client parses it", async () => {
  const shape = z.object({ isSunny: z.boolean() });
  const response = await client.chat.completions.parse({
    model,
    messages,
    max_tokens: 16,
    temperature: 0,
    response_format: zodResponseFormat(shape, "weather"),
  });
  expect(typeof response.choices[0]?.message.parsed?.isSunny).toBe("boolean");
});

test("a tool call is required of a model whose template has no tools, and runTools continues with its result", async () => {
  const tools = [weather];
  const response = await client.chat.completions.create({
    model,
    messages,
    tools,
    tool_choice: "required",
    parallel_tool_calls: false,
    max_tokens: 64,
    temperature: 0,
  });
  const [choice] = response.choices;
  expect(choice?.finish_reason).toBe("tool_calls");
  expect(choice?.message.tool_calls).toMatchObject([{ type: "function", function: { name: "get_weather" } }]);
  const described = { name: "get_weather", description: "Tells the weather" };
  const runner = client.chat.completions.runTools(
    {
      model,
      messages,
      max_tokens: 64,
      temperature: 0,
      tool_choice: { type: "function", function: { name: "get_weather" } },
      tools: [
        { type: "function", function: { ...described, parameters: cityParameters, function: () => "sunny" } },
      ],
    },
    { maxChatCompletions: 2 },
  );
  await runner.done();
  expect(runner.messages.find(({ role }) => role === "tool")).toMatchObject({ content: "sunny" });
});

test("log-probabilities have the requested number of alternatives", async () => {
  const response = await client.chat.completions.create({
    model,
    messages,
    max_tokens: 3,
    logprobs: true,
    top_logprobs: 2,
  });
  const tokens = response.choices[0]?.logprobs?.content ?? [];
  expect(tokens).toHaveLength(3);
  for (const { logprob, top_logprobs, bytes, token } of tokens) {
    expect(logprob).toBeLessThanOrEqual(0);
    expect(top_logprobs).toHaveLength(2);
    expect(Buffer.from(bytes ?? []).toString()).toBe(token);
  }
});

test("a biased token is generated", async () => {
  const free = await client.chat.completions.create({
    model,
    messages,
    max_tokens: 2,
    temperature: 0,
    seed: 1,
  });
  const bias = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [String(index + 300), 100]));
  const biased = await client.chat.completions.create({
    model,
    messages,
    max_tokens: 2,
    temperature: 0,
    seed: 1,
    logit_bias: bias,
  });
  expect(biased.choices[0]?.message.content).not.toBe(free.choices[0]?.message.content);
});

test("an effort is accepted by models with and without thinking", async () => {
  for (const name of ["tiny", "smol"]) {
    for (const reasoning_effort of ["none", "low"] as const) {
      const response = await client.chat.completions.create({
        model: name,
        messages,
        max_tokens: 2,
        reasoning_effort,
      });
      expect(response.choices).toHaveLength(1);
    }
  }
});

const sendPart = (part: OpenAI.ChatCompletionContentPart) =>
  client.chat.completions.create({ model, messages: [{ role: "user", content: [part] }], max_tokens: 1 });

test("an image for a model without vision is rejected, and a text part is read", async () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  await expect(sendPart({ type: "image_url", image_url: { url } })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("does not support vision"),
  });
  expect((await sendPart({ type: "text", text: "Hi" })).choices).toHaveLength(1);
});

test("a completion continues its prompt, echoes it, and streams", async () => {
  const body = { model, prompt: "One two three", max_tokens: 4, temperature: 0 };
  const whole = await client.completions.create(body);
  expect(whole).toMatchObject({ object: "text_completion", usage: { completion_tokens: 4 } });
  expect(whole.id).toMatch(/^cmpl-/);
  const echoed = await client.completions.create({ ...body, echo: true });
  expect(echoed.choices[0]?.text).toBe(`One two three${whole.choices[0]?.text}`);
  let text = "";
  let last: string | null = null;
  for await (const chunk of await client.completions.create({ ...body, stream: true })) {
    text += chunk.choices[0]?.text;
    last = chunk.choices[0]?.finish_reason ?? null;
  }
  expect(text).toBe(whole.choices[0]?.text);
  expect(last).toBe("length");
});

test("a list of prompts has a choice for each, with log-probabilities", async () => {
  const response = await client.completions.create({
    model,
    prompt: ["One two", "A b"],
    max_tokens: 2,
    logprobs: 1,
    n: 2,
  });
  expect(response.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  for (const { text, logprobs } of response.choices) {
    expect(logprobs?.tokens?.join("")).toBe(text);
    expect(logprobs?.text_offset?.[0]).toBe(0);
    expect(logprobs?.token_logprobs).toHaveLength(2);
  }
});

const refusalOf = (body: object) =>
  client.completions.create({ model, prompt: "x", max_tokens: 1, ...body }).then(
    () => "answered",
    (error: APIError) => `${error.status} ${error.param}`,
  );

test("unsupported completions are rejected with a message: suffix without the capability, best_of, tokens, no prompt", async () => {
  expect(await refusalOf({})).toBe("answered");
  expect(await refusalOf({ suffix: "y" })).toBe("400 null");
  expect(await refusalOf({ suffix: "" })).toBe("answered");
  expect(await refusalOf({ best_of: 3 })).toBe("400 best_of");
  expect(await refusalOf({ best_of: 1 })).toBe("answered");
  expect(await refusalOf({ prompt: [1, 2] })).toBe("400 prompt");
  expect(await refusalOf({ prompt: "" })).toBe("400 prompt");
  expect(await refusalOf({ echo: true, logprobs: 1 })).toBe("400 echo");
});

test("bug 30: embeddings in the client's base64 encoding equal those in floats", async () => {
  const input = ["Hello", "A longer text"];
  const encoded = await client.embeddings.create({ model: "minilm", input });
  const floats = await client.embeddings.create({ model: "minilm", input, encoding_format: "float" });
  expect(encoded.data.map(({ embedding }) => embedding.length)).toEqual([384, 384]);
  for (const [index, { embedding }] of encoded.data.entries()) {
    expect(Array.from(embedding)).toEqual(floats.data[index]?.embedding);
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
  }
  expect(encoded.usage.prompt_tokens).toBeGreaterThan(2);
});

const embedHello = (dimensions: number) =>
  client.embeddings.create({ model: "minilm", input: "Hello", dimensions });

test("fewer dimensions are the first ones, normalized; more than the model has are rejected", async () => {
  const [short] = (await embedHello(64)).data;
  expect(short?.embedding).toHaveLength(64);
  expect(Math.hypot(...(short?.embedding ?? []))).toBeCloseTo(1, 5);
  await expect(embedHello(385)).rejects.toMatchObject({ status: 400, param: "dimensions" });
});

test("bug 29: token ids are rejected with a helpful message", async () => {
  for (const input of [[1, 2], [[1, 2]]]) {
    await expect(client.embeddings.create({ model: "minilm", input })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("check_embedding_ctx_length=False"),
    });
  }
});

test("a text longer than the context of an embedding model is rejected with the code, not truncated", async () => {
  const long = client.embeddings.create({ model: "minilm", input: "word ".repeat(1000) });
  await expect(long).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
});

test("an unknown model is the client's NotFoundError with the code", async () => {
  const body = { model: "unknown", messages };
  const rejected = client.chat.completions.create(body);
  await expect(rejected).rejects.toBeInstanceOf(NotFoundError);
  await expect(client.chat.completions.create(body)).rejects.toMatchObject({ code: "model_not_found" });
  await expect(client.models.retrieve("unknown")).rejects.toBeInstanceOf(NotFoundError);
});

test("a client that aborts frees its slot", async () => {
  const stream = await client.chat.completions.create({ model, messages, stream: true });
  await stream[Symbol.asyncIterator]().next();
  stream.controller.abort();
  await expect.poll(() => server.logRecords().at(-1)).toMatchObject({ route: "POST /v1/chat/completions" });
  const next = await client.chat.completions.create({ model, messages, max_tokens: 1 });
  expect(next.choices).toHaveLength(1);
});
