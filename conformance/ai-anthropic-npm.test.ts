import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ClientStage,
  cityParameters,
  cues,
  okSchema,
  recordCalls,
  rightKey,
  startStage,
  tallyCalls,
  wrongKey,
} from "./client-fixture.ts";

let stage: ClientStage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

type Credentials = { readonly apiKey: string } | { readonly authToken: string };

const onReal = (credentials: Credentials = { apiKey: rightKey }, model = "smol", base = "/alt") =>
  createAnthropic({ baseURL: `${stage.real.url}${base}/v1`, ...credentials })(model);
const onScript = () => createAnthropic({ baseURL: `${stage.scripted.url}/alt/v1`, apiKey: rightKey })("tiny");
const prompt = "Count from one to nine";
const eight = { prompt, temperature: 0, maxOutputTokens: 8, maxRetries: 0 };

test.each(["/alt", ""])(
  "messages at the base %j throw without a key and with a wrong one, and answer the right one",
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
  test("text is the same generated and streamed, with its usage and reason", async () => {
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

  test("an object of a schema is generated and streamed", async () => {
    const output = Output.object({ schema: jsonSchema<{ ok: boolean }>(okSchema) });
    // It takes an unknown model for an old one, and would ask for a tool's call instead.
    const providerOptions = { anthropic: { structuredOutputMode: "outputFormat" } };
    const asked = { ...eight, maxOutputTokens: 16, model: onReal(), output, providerOptions };
    const whole = await generateText(asked);
    expect(whole.output).toEqual({ ok: expect.any(Boolean) });
    expect(await streamText(asked).output).toEqual(whole.output);
  });

  test("an unknown model is a call's error", async () => {
    const unknown = generateText({ ...eight, model: onReal({ apiKey: rightKey }, "nobody") });
    await expect(unknown).rejects.toMatchObject({ statusCode: 404, isRetryable: false });
  });
});

describe("on a script", () => {
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

  test("two calls are run and lead to an answer, generated and streamed, with thoughts apart", async () => {
    const settings = { ...withTools, model: onScript(), providerOptions };
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
    const settings = { ...withTools, stopWhen: stepCountIs(1), model: onScript(), toolChoice };
    const { toolCalls } = await generateText(settings);
    expect(toolCalls.map(({ input }) => input)).toEqual([{ city: "Rome" }, { city: "Oslo" }].slice(0, count));
  });

  test("an engine that breaks is an error, before its first word and after it", async () => {
    const model = onScript();
    const atOnce = generateText({ model, prompt: cues.breakAtOnce, maxRetries: 0 });
    await expect(atOnce).rejects.toMatchObject({ statusCode: 500 });
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const streamed = streamText({ model, prompt: cues.breakHalfway, maxRetries: 0, onError });
    const types = (await Array.fromAsync(streamed.fullStream)).map(({ type }) => type);
    expect(types).toContain("error");
    expect(errors).toHaveLength(1);
  });

  test("an aborted call throws and frees its place", async () => {
    const model = onScript();
    const abortSignal = AbortSignal.timeout(200);
    const endless = generateText({ model, prompt: cues.fallSilent, maxRetries: 0, abortSignal });
    await expect(endless).rejects.toThrow(/abort|timeout/iu);
    expect((await generateText({ model, prompt, maxRetries: 0 })).text).toBe("It is sunny");
  });
});

test("both endpoints were called with the right key, without one and with a wrong one", async () => {
  const routes = ["POST /alt/v1/messages", "POST /v1/messages"];
  const calls = 27;
  const wanted = { answered: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(stage)).toMatchObject(wanted);
  recordCalls("npm ai with @ai-sdk/anthropic", tallyCalls(stage), calls);
});
