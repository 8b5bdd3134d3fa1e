import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  embed,
  embedMany,
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
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

type Provider = ReturnType<typeof connect>;

let fixture: ClientFixture;
let real: Provider;
let fake: Provider;
beforeAll(async () => {
  fixture = await startClientFixture();
  real = connect(fixture.real.url, { apiKey: rightKey });
  fake = connect(fixture.fake.url, { apiKey: rightKey });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (url: string, credentials: { readonly apiKey?: string }) =>
  createOpenAICompatible({
    name: "hearth",
    baseURL: `${url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...credentials,
  });
const prompt = "Count from one to nine";
const eight = { prompt, temperature: 0, maxOutputTokens: 8, maxRetries: 0 };

const endpoints: readonly [string, (provider: Provider) => Promise<unknown>][] = [
  ["POST /v1/chat/completions", (provider) => generateText({ ...eight, model: provider("smol") })],
  ["POST /v1/completions", (provider) => generateText({ ...eight, model: provider.completionModel("smol") })],
  [
    "POST /v1/embeddings",
    (provider) => embed({ model: provider.embeddingModel("minilm"), value: "a", maxRetries: 0 }),
  ],
];

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    for (const credentials of [{}, { apiKey: wrongKey }]) {
      const rejected = await call(connect(fixture.real.url, credentials)).catch((error: unknown) => error);
      expect(APICallError.isInstance(rejected)).toBe(true);
      expect(rejected).toMatchObject({ statusCode: 401, isRetryable: false });
    }
    await call(real);
  },
);

describe("on real weights", () => {
  test("generated and streamed text are the same, with usage and finish reason", async () => {
    for (const model of [real("smol"), real.completionModel("smol")]) {
      const complete = await generateText({ ...eight, model });
      expect(complete.text).toMatch(/\w/u);
      expect(complete).toMatchObject({ finishReason: "length", usage: { outputTokens: 8 } });
      const streamed = streamText({ ...eight, model });
      expect((await Array.fromAsync(streamed.textStream)).join("")).toBe(complete.text);
      expect(await streamed.finishReason).toBe("length");
      expect((await streamed.usage).outputTokens).toBe(8);
    }
  });

  test("an object that matches a schema is generated and streamed, and generated from a Zod schema", async () => {
    const output = Output.object({ schema: jsonSchema<{ ok: boolean }>(okSchema) });
    const request = { ...eight, maxOutputTokens: 16, model: real("smol"), output };
    const complete = await generateText(request);
    expect(complete.output).toEqual({ ok: expect.any(Boolean) });
    expect(await streamText(request).output).toEqual(complete.output);
    const zodOutput = Output.object({ schema: z.object({ ok: z.boolean() }) });
    const fromZod = await generateText({ ...request, output: zodOutput });
    expect(fromZod.output).toEqual({ ok: expect.any(Boolean) });
  });

  test("several texts are embedded", async () => {
    const model = real.embeddingModel("minilm");
    const { embeddings, usage } = await embedMany({ model, values: ["a", "b"] });
    expect(embeddings.map(({ length }) => length)).toEqual([384, 384]);
    expect(usage.tokens).toBeGreaterThan(0);
  });

  test("an unknown model is an API call error", async () => {
    const unknown = generateText({ ...eight, model: real("nobody") });
    await expect(unknown).rejects.toMatchObject({ statusCode: 404, isRetryable: false });
  });
});

describe("on a fake engine", () => {
  const requestedCities: string[] = [];
  const weather = tool({
    inputSchema: jsonSchema<{ city: string }>(cityParameters),
    execute: async ({ city }) => {
      requestedCities.push(city);
      return "warm";
    },
  });
  const onFakeEngine = { prompt, maxRetries: 0, tools: { weather }, stopWhen: stepCountIs(3) };

  test("two calls are run and lead to a response, generated and streamed, with separate reasoning", async () => {
    const model = fake("tiny");
    const complete = await generateText({ ...onFakeEngine, model });
    expect(complete.text).toBe("It is sunny");
    expect(complete.steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(complete.steps[0]?.reasoningText).toBe("I look it up");
    const streamed = streamText({ ...onFakeEngine, model });
    const types = new Set((await Array.fromAsync(streamed.fullStream)).map(({ type }) => type));
    expect([...types]).toEqual(
      expect.arrayContaining(["reasoning-delta", "tool-call", "tool-result", "text-delta"]),
    );
    expect(await streamed.text).toBe("It is sunny");
    expect(requestedCities.toSorted()).toEqual(["Oslo", "Oslo", "Rome", "Rome"]);
  });

  test.each([
    [2, "required"],
    [1, { type: "tool", toolName: "weather" }],
    [0, "none"],
  ] as const)("%i calls are returned for the choice %j", async (count, toolChoice) => {
    const stopWhen = stepCountIs(1);
    const { toolCalls } = await generateText({
      ...onFakeEngine,
      stopWhen,
      model: fake("tiny"),
      toolChoice,
    });
    expect(toolCalls.map(({ input }) => input)).toEqual([{ city: "Rome" }, { city: "Oslo" }].slice(0, count));
  });

  test("an engine failure is an error, before the first token and after it", async () => {
    const model = fake("tiny");
    const atOnce = generateText({ model, prompt: cues.breakAtOnce, maxRetries: 0 });
    await expect(atOnce).rejects.toMatchObject({ statusCode: 500 });
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const streamed = streamText({ model, prompt: cues.breakHalfway, maxRetries: 0, onError });
    const types = (await Array.fromAsync(streamed.fullStream)).map(({ type }) => type);
    expect(types).toContain("error");
    expect(errors).toHaveLength(1);
  });

  test("an aborted request throws and frees its slot", async () => {
    const model = fake("tiny");
    const abortSignal = AbortSignal.timeout(200);
    const endless = generateText({ model, prompt: cues.fallSilent, maxRetries: 0, abortSignal });
    await expect(endless).rejects.toThrow(/abort|timeout/iu);
    expect((await generateText({ model, prompt, maxRetries: 0 })).text).toBe("It is sunny");
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 29;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm ai with @ai-sdk/openai-compatible", tallyCalls(fixture), calls);
});
