import { type AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOllama, Ollama, OllamaEmbeddings } from "@langchain/ollama";
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

const withKey = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
type Connection = { readonly headers?: Record<string, string> };
const options = { temperature: 0, seed: 1, numPredict: 8, maxRetries: 0 };
const chatOn = (connection: Connection = withKey(rightKey)) =>
  new ChatOllama({ baseUrl: fixture.real.url, model: "smol", ...options, ...connection });
const textOn = (connection: Connection = withKey(rightKey)) =>
  new Ollama({ baseUrl: fixture.real.url, model: "smol", ...options, ...connection });
const embeddingsOn = (connection: Connection = withKey(rightKey)) =>
  new OllamaEmbeddings({ baseUrl: fixture.real.url, model: "minilm", maxRetries: 0, ...connection });
const onFakeEngine = (fields: { readonly think?: boolean } = {}) =>
  new ChatOllama({
    baseUrl: fixture.fake.url,
    model: "tiny",
    maxRetries: 0,
    ...withKey(rightKey),
    ...fields,
  });
const prompt = "Count from one to nine";

const endpoints: readonly [string, (connection: Connection) => Promise<unknown>][] = [
  ["POST /api/chat", (connection) => chatOn(connection).invoke(prompt)],
  ["POST /api/generate", (connection) => textOn(connection).invoke(prompt)],
  ["POST /api/embed", (connection) => embeddingsOn(connection).embedQuery("a")],
];

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    for (const connection of [{}, withKey(wrongKey)]) {
      await expect(call(connection)).rejects.toMatchObject({ name: "ResponseError", status_code: 401 });
    }
    await call(withKey(rightKey));
  },
);

describe("on real weights", () => {
  test("invoked and streamed chats are the same, with token usage", async () => {
    const complete = await chatOn().invoke([new HumanMessage(prompt)]);
    expect(complete.text).not.toBe("");
    expect(complete).toMatchObject({ usage_metadata: { output_tokens: 8 } });
    const chunks = await Array.fromAsync(await chatOn().stream(prompt));
    expect(chunks.map(({ text }) => text).join("")).toBe(complete.text);
    expect(chunks.filter(({ text }) => text !== "").length).toBeGreaterThan(1);
  });

  test("invoked and streamed text are the same", async () => {
    const complete = await textOn().invoke(prompt);
    expect((await Array.fromAsync(await textOn().stream(prompt))).join("")).toBe(complete);
  });

  test("structured output matches its schema", async () => {
    const chat = new ChatOllama({
      baseUrl: fixture.real.url,
      model: "smol",
      ...options,
      numPredict: 16,
      ...withKey(rightKey),
    });
    const shaped = chat.withStructuredOutput<{ ok: boolean }>(okSchema, { method: "jsonSchema" });
    expect(await shaped.invoke(prompt)).toEqual({ ok: expect.any(Boolean) });
  });

  test("a query and documents are embedded", async () => {
    expect(await embeddingsOn().embedQuery("a")).toHaveLength(384);
    const vectors = await embeddingsOn().embedDocuments(["a", "b"]);
    expect(vectors.map(({ length }) => length)).toEqual([384, 384]);
  });
});

describe("on a fake engine", () => {
  const weather = {
    type: "function",
    function: { name: "weather", description: "Tells the weather", parameters: cityParameters },
  };
  const calls = ["Rome", "Oslo"].map((city) => ({ name: "weather", args: { city } }));

  test("bound tools are called, invoked and streamed, and their results lead to a response", async () => {
    const chat = onFakeEngine().bindTools([weather]);
    const first = await chat.invoke(prompt);
    expect(first.tool_calls).toMatchObject(calls);
    const chunks: AIMessageChunk[] = await Array.fromAsync(await chat.stream(prompt));
    expect(chunks.flatMap(({ tool_calls }) => tool_calls ?? [])).toMatchObject(calls);
    const results = (first.tool_calls ?? []).map(
      ({ id, name }) => new ToolMessage({ content: "warm", name, tool_call_id: id ?? "" }),
    );
    const response = await chat.invoke([new HumanMessage(prompt), first, ...results]);
    expect(response.text).toBe("It is sunny");
  });

  test("thinking is separate if requested, and absent otherwise", async () => {
    const withThinking = await onFakeEngine({ think: true }).invoke(prompt);
    expect(withThinking).toMatchObject({
      content: "It is sunny",
      additional_kwargs: { reasoning_content: "I look it up" },
    });
    const withoutThinking = await onFakeEngine({ think: false }).invoke(prompt);
    expect(withoutThinking.content).toBe("It is sunny");
    expect(withoutThinking.additional_kwargs["reasoning_content"]).toBeUndefined();
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    for (const cue of [cues.breakAtOnce, cues.breakHalfway]) {
      await expect(onFakeEngine().invoke(cue)).rejects.toThrow("unexpectedly stopped");
    }
    const reading = (async () => Array.fromAsync(await onFakeEngine().stream(cues.breakHalfway)))();
    await expect(reading).rejects.toThrow("unexpectedly stopped");
  });

  test("an aborted call returns the partial output, as this client does, and frees its slot", async () => {
    const signal = AbortSignal.timeout(200);
    expect((await onFakeEngine().invoke(cues.neverEnd, { signal })).text).toMatch(/^a+$/u);
    expect((await onFakeEngine().invoke(prompt)).text).toBe("It is sunny");
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 26;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm @langchain/ollama", tallyCalls(fixture), calls);
});
