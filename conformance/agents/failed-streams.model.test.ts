import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIProvider, Runner } from "@openai/agents";
import { streamText } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const model = "tiny";
const apiKey = "none";
const message = /The engine stopped while generating/u;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    models: { [model]: tiny },
    script: () => [
      { do: "write", text: "Half a " },
      { do: "fail", failure: { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" } },
    ],
    description: { splitsEvents: true },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const client = (): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });

async function readAll(stream: AsyncIterable<unknown>): Promise<number> {
  return (await Array.fromAsync(stream)).length;
}

test("openai: a response that fails midway throws with its message, from a stream and from the helper", async () => {
  const raw = await client().responses.create({ model, input: "Hello", stream: true });
  await expect(readAll(raw)).rejects.toMatchObject({ message: expect.stringMatching(message) });
  const helper = client().responses.stream({ model, input: "Hello" });
  await expect(helper.finalResponse()).rejects.toMatchObject({ message: expect.stringMatching(message) });
});

test("AI SDK: a response that fails midway is one error, and not two", async () => {
  const errors: unknown[] = [];
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey });
  const result = streamText({
    model: openai(model),
    prompt: "Hello",
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  });
  const parts: string[] = [];
  for await (const { type } of result.fullStream) parts.push(type);
  expect(parts.filter((type) => type === "error")).toHaveLength(1);
  expect(errors).toMatchObject([{ message: expect.stringMatching(message) }]);
});

test("@openai/agents: a run whose response fails midway rejects with the message of the server", async () => {
  const modelProvider = new OpenAIProvider({ openAIClient: client(), useResponses: true });
  const runner = new Runner({ model, modelProvider, tracingDisabled: true });
  const run = async (): Promise<void> => {
    const result = await runner.run(new Agent({ name: "Assistant" }), "Hello", { stream: true });
    await readAll(result);
    await result.completed;
  };
  await expect(run()).rejects.toMatchObject({ message: expect.stringMatching(message) });
});

test("LangChain: a response that fails midway is not taken for a complete one", async () => {
  const chat = new ChatOpenAI({
    model,
    apiKey,
    maxRetries: 0,
    useResponsesApi: true,
    configuration: { baseURL: `${server.url}/v1` },
  });
  await expect(chat.stream("Hello").then(readAll)).rejects.toMatchObject({
    message: expect.stringMatching(message),
  });
});
