import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
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

let fixture: ClientFixture;
beforeAll(async () => {
  fixture = await startClientFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

type Key = string | null;

const fetchWithoutKey: typeof fetch = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.delete("authorization");
  return fetch(url, { ...init, headers });
};
/** The client requires a key, so it is removed from the request to test without one. */
const connect = (url: string, key: Key) => ({
  apiKey: key ?? "none",
  maxRetries: 0,
  configuration: {
    baseURL: `${url}/v1`,
    ...(key === null ? { fetch: fetchWithoutKey } : {}),
  },
});
const eight = { model: "smol", temperature: 0, maxTokens: 8 };
const chatOn = (key: Key = rightKey, fields: object = {}) =>
  new ChatOpenAI({ ...eight, ...connect(fixture.real.url, key), ...fields });
const responsesOn = (key: Key = rightKey) => chatOn(key, { useResponsesApi: true });
const textOn = (key: Key = rightKey) => new OpenAI({ ...eight, ...connect(fixture.real.url, key) });
const embeddingsOn = (key: Key = rightKey) =>
  new OpenAIEmbeddings({ model: "minilm", ...connect(fixture.real.url, key) });
const onFakeEngine = (fields: object = {}) =>
  new ChatOpenAI({ model: "tiny", ...connect(fixture.fake.url, rightKey), ...fields });
const prompt = "Count from one to nine";

const endpoints: readonly [string, (key: Key) => Promise<unknown>][] = [
  ["POST /v1/chat/completions", (key) => chatOn(key).invoke(prompt)],
  ["POST /v1/responses", (key) => responsesOn(key).invoke(prompt)],
  ["POST /v1/completions", (key) => textOn(key).invoke(prompt)],
  ["POST /v1/embeddings", (key) => embeddingsOn(key).embedQuery("a")],
];

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    for (const key of [null, wrongKey]) {
      await expect(call(key)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    }
    await call(rightKey);
  },
);

describe("on real weights", () => {
  test.each([
    ["chat completions", chatOn],
    ["responses", responsesOn],
  ])("with %s, invoked and streamed output are the same, with token usage", async (...[, on]) => {
    const complete = await on().invoke([new HumanMessage(prompt)]);
    expect(complete).toMatchObject({ usage_metadata: { output_tokens: 8 } });
    const chunks = await Array.fromAsync(await on().stream(prompt));
    expect(chunks.map(({ text }) => text).join("")).toBe(complete.text);
    expect(chunks.reduce((sum, chunk) => sum.concat(chunk))).toMatchObject({
      usage_metadata: { output_tokens: 8 },
    });
  });

  test("invoked and streamed text are the same", async () => {
    const complete = await textOn().invoke(prompt);
    expect((await Array.fromAsync(await textOn().stream(prompt))).join("")).toBe(complete);
  });

  test("structured output matches its schema, from JSON Schema and from Zod", async () => {
    const chat = chatOn(rightKey, { maxTokens: 16 });
    const shaped = chat.withStructuredOutput<{ ok: boolean }>(okSchema, {
      method: "jsonSchema",
      name: "verdict",
    });
    expect(await shaped.invoke(prompt)).toEqual({ ok: expect.any(Boolean) });
    const fromZod = chat.withStructuredOutput(z.object({ ok: z.boolean() }), { method: "jsonSchema" });
    expect(await fromZod.invoke(prompt)).toEqual({ ok: expect.any(Boolean) });
  });

  test("a query and documents are embedded", async () => {
    expect(await embeddingsOn().embedQuery("a")).toHaveLength(384);
    const vectors = await embeddingsOn().embedDocuments(["a", "b"]);
    expect(vectors.map(({ length }) => length)).toEqual([384, 384]);
  });

  test("an unknown model is rejected", async () => {
    await expect(chatOn(rightKey, { model: "nobody" }).invoke(prompt)).rejects.toMatchObject({ status: 404 });
  });
});

describe("on a fake engine", () => {
  const weather = {
    type: "function",
    function: { name: "weather", description: "Tells the weather", parameters: cityParameters },
  } as const;
  const calls = ["Rome", "Oslo"].map((city) => ({ name: "weather", args: { city } }));

  test.each([false, true])(
    "bound tools are called and lead to a response, with the Responses API %j",
    async (useResponsesApi) => {
      const chat = onFakeEngine({ useResponsesApi }).bindTools([weather]);
      const first = await chat.invoke(prompt);
      expect(first.tool_calls).toMatchObject(calls);
      const chunks = await Array.fromAsync(await chat.stream(prompt));
      expect(chunks.reduce((sum, chunk) => sum.concat(chunk)).tool_calls).toMatchObject(calls);
      const results = (first.tool_calls ?? []).map(
        ({ id }) => new ToolMessage({ content: "warm", tool_call_id: id ?? "" }),
      );
      const response = await chat.invoke([new HumanMessage(prompt), first, ...results]);
      expect(response.text).toBe("It is sunny");
    },
  );

  test("a tool with a Zod schema is called, invoked and streamed", async () => {
    const schema = z.object({ city: z.string() });
    const chat = onFakeEngine().bindTools([tool(async () => "warm", { name: "weather", schema })]);
    expect((await chat.invoke(prompt)).tool_calls).toMatchObject(calls);
    const chunks = await Array.fromAsync(await chat.stream(prompt));
    expect(chunks.reduce((sum, chunk) => sum.concat(chunk)).tool_calls).toMatchObject(calls);
  });

  test("a tool call is required by name, and none is returned if tools are off", async () => {
    const forced = onFakeEngine().bindTools([weather], { tool_choice: "weather" });
    expect((await forced.invoke(prompt)).tool_calls).toMatchObject(calls.slice(0, 1));
    const none = onFakeEngine().bindTools([weather], { tool_choice: "none" });
    expect(await none.invoke(prompt)).toMatchObject({ text: "It is sunny", tool_calls: [] });
  });

  test("structured output from a function call is parsed", async () => {
    const shaped = onFakeEngine().withStructuredOutput<{ city: string }>(cityParameters, {
      method: "functionCalling",
      name: "weather",
    });
    expect(await shaped.invoke(prompt)).toEqual({ city: "Rome" });
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    await expect(onFakeEngine().invoke(cues.breakAtOnce)).rejects.toMatchObject({ status: 500 });
    const reading = (async () => Array.fromAsync(await onFakeEngine().stream(cues.breakHalfway)))();
    await expect(reading).rejects.toThrow("The engine stopped while generating");
  });

  test("an aborted request throws and frees its slot", async () => {
    const signal = AbortSignal.timeout(200);
    await expect(onFakeEngine().invoke(cues.fallSilent, { signal })).rejects.toThrow(/abort|timeout/iu);
    expect((await onFakeEngine().invoke(prompt)).text).toBe("It is sunny");
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 38;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm @langchain/openai", tallyCalls(fixture), calls);
});
