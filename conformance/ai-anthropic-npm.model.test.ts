import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

let fixture: ClientFixture;
beforeAll(async () => {
  fixture = await startClientFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

type Credentials = { readonly apiKey: string } | { readonly authToken: string };

const onReal = (credentials: Credentials = { apiKey: rightKey }, model = "smol", base = "/alt") =>
  createAnthropic({ baseURL: `${fixture.real.url}${base}/v1`, ...credentials })(model);
const onFakeEngine = () =>
  createAnthropic({ baseURL: `${fixture.scripted.url}/alt/v1`, apiKey: rightKey })("tiny");
const prompt = "Count from one to nine";
const eight = { prompt, temperature: 0, maxOutputTokens: 8, maxRetries: 0 };

test.each(["/alt", ""])(
  "messages at the base URL %j throw without a key and with a wrong key, and succeed with the right key",
  async (base) => {
    for (const credentials of [{ apiKey: "" }, { apiKey: wrongKey }, { authToken: wrongKey }]) {
      const model = onReal(credentials, "smol", base);
      const refused = await generateText({ ...eight, model }).catch((problem: unknown) => problem);
      expect(APICallError.isInstance(refused)).toBe(true);
      expect(refused).toMatchObject({ statusCode: 401, isRetryable: false });
    }
    for (const credentials of [{ apiKey: rightKey }, { authToken: rightKey }]) {
      const { usage } = await generateText({ ...eight, model: onReal(credentials, "smol", base) });
      expect(usage.outputTokens).toBe(8);
    }
  },
);

describe("on real weights", () => {
  test("generated and streamed text are the same, with usage and finish reason", async () => {
    const whole = await generateText({ ...eight, model: onReal() });
    expect(whole).toMatchObject({ finishReason: "length", usage: { outputTokens: 8 } });
    const streamed = streamText({ ...eight, model: onReal() });
    expect((await Array.fromAsync(streamed.textStream)).join("")).toBe(whole.text);
    expect(await streamed.finishReason).toBe("length");
    expect(await streamed.usage).toMatchObject({ inputTokens: whole.usage.inputTokens, outputTokens: 8 });
  });

  test("instructions and a stop sequence are followed", async () => {
    const stopped = await generateText({
      ...eight,
      model: onReal(),
      instructions: "Be brief",
      stopSequences: [" "],
    });
    expect(stopped.finishReason).toBe("stop");
    expect(stopped.text).not.toContain(" ");
  });

  test("an object that matches a schema is generated and streamed", async () => {
    const output = Output.object({ schema: jsonSchema<{ ok: boolean }>(okSchema) });
    // The client treats an unknown model as an old one and would use a tool call instead.
    const providerOptions = { anthropic: { structuredOutputMode: "outputFormat" } };
    const asked = { ...eight, maxOutputTokens: 16, model: onReal(), output, providerOptions };
    const whole = await generateText(asked);
    expect(whole.output).toEqual({ ok: expect.any(Boolean) });
    expect(await streamText(asked).output).toEqual(whole.output);
  });

  test("an unknown model is an API call error", async () => {
    const unknown = generateText({ ...eight, model: onReal({ apiKey: rightKey }, "nobody") });
    await expect(unknown).rejects.toMatchObject({ statusCode: 404, isRetryable: false });
  });
});

describe("on a fake engine", () => {
  const asked: string[] = [];
  const weather = tool({
    inputSchema: jsonSchema<{ city: string }>(cityParameters),
    execute: async ({ city }) => {
      asked.push(city);
      return "warm";
    },
  });
  const withTools = {
    prompt,
    maxOutputTokens: 2048,
    maxRetries: 0,
    tools: { weather },
    stopWhen: stepCountIs(3),
  };
  const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };

  test("two calls are run and lead to a response, generated and streamed, with separate reasoning", async () => {
    const settings = { ...withTools, model: onFakeEngine(), providerOptions };
    const whole = await generateText(settings);
    expect(whole.text).toBe("It is sunny");
    expect(whole.steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(whole.steps[0]?.reasoningText).toBe("I look it up");
    const streamed = streamText(settings);
    const types = new Set((await Array.fromAsync(streamed.fullStream)).map(({ type }) => type));
    expect([...types]).toEqual(
      expect.arrayContaining(["reasoning-delta", "tool-call", "tool-result", "text-delta"]),
    );
    expect(await streamed.text).toBe("It is sunny");
    expect(asked.toSorted()).toEqual(["Oslo", "Oslo", "Rome", "Rome"]);
  });

  test.each([
    [2, "required"],
    [2, { type: "tool", toolName: "weather" }],
    [0, "none"],
  ] as const)("%i calls come by the choice %j", async (count, toolChoice) => {
    const settings = { ...withTools, stopWhen: stepCountIs(1), model: onFakeEngine(), toolChoice };
    const { toolCalls } = await generateText(settings);
    expect(toolCalls.map(({ input }) => input)).toEqual([{ city: "Rome" }, { city: "Oslo" }].slice(0, count));
  });

  test("an engine failure is an error, before the first token and after it", async () => {
    const model = onFakeEngine();
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
    const model = onFakeEngine();
    const abortSignal = AbortSignal.timeout(200);
    const endless = generateText({ model, prompt: cues.fallSilent, maxRetries: 0, abortSignal });
    await expect(endless).rejects.toThrow(/abort|timeout/iu);
    expect((await generateText({ model, prompt, maxRetries: 0 })).text).toBe("It is sunny");
  });
});

test("both endpoints were called with the right key, without a key and with a wrong key", async () => {
  const routes = ["POST /alt/v1/messages", "POST /v1/messages"];
  const calls = 27;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm ai with @ai-sdk/anthropic", tallyCalls(fixture), calls);
});
