import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../test/start-test-server.ts";
import { call, fakeSteps, prompt, reasoning, startFakeServer, text } from "./test/scripts.ts";

const modelOf = (server: TestServer) =>
  createAnthropic({ baseURL: `${server.url}/alt/v1`, apiKey: "any" })("smol");
const ask = { prompt: "Hello", maxOutputTokens: 16, maxRetries: 0 };

test("complete and streamed text of real weights are the same", async () => {
  await using server = await startTestServer({ models: { smol } });
  const model = modelOf(server);
  const whole = await generateText({ model, ...ask, temperature: 0 });
  expect(whole.text.length).toBeGreaterThan(0);
  expect(whole.usage.outputTokens).toBeLessThanOrEqual(16);
  const streamed = streamText({ model, ...ask, temperature: 0 });
  const chunks: string[] = [];
  for await (const chunk of streamed.textStream) chunks.push(chunk);
  expect(chunks.join("")).toBe(whole.text);
});

test("the full stream carries thinking and text", async () => {
  await using server = await startFakeServer([prompt(9, 0), reasoning("Hm"), text("Yes")]);
  const streamed = streamText({
    model: modelOf(server),
    ...ask,
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } },
  });
  const types = new Set<string>();
  for await (const chunk of streamed.fullStream) types.add(chunk.type);
  expect(await streamed.reasoningText).toBe("Hm");
  expect(await streamed.text).toBe("Yes");
  expect([...types]).toEqual(expect.arrayContaining(["reasoning-delta", "text-delta", "finish"]));
});

test("tools are run until the model responds", async () => {
  await using server = await startTestServer({
    models: { smol },
    description: { splitsEvents: true },
    script: (_request, turn) =>
      fakeSteps(
        turn === 1
          ? [prompt(9, 0), ...call(0, "weather", ['{"city":"Bonn"}'])]
          : [prompt(20, 9), text("Rain")],
      ),
  });
  const inputSchema = jsonSchema<{ city: string }>({
    type: "object",
    properties: { city: { type: "string" } },
  });
  const response = await generateText({
    model: modelOf(server),
    ...ask,
    tools: { weather: tool({ inputSchema, execute: async ({ city }) => `wet in ${city}` }) },
    stopWhen: stepCountIs(2),
  });
  expect(response.text).toBe("Rain");
  expect(server.requests).toHaveLength(2);
});

test("real weights generate an object that matches a schema", async () => {
  await using server = await startTestServer({ models: { smol } });
  const schema = jsonSchema<{ ok: boolean }>({
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  });
  const response = await generateText({
    model: modelOf(server),
    ...ask,
    maxOutputTokens: 40,
    output: Output.object({ schema }),
  });
  expect(response.output).toEqual({ ok: expect.any(Boolean) });
});

test("a failure mid-stream is an error for the client", async () => {
  await using server = await startTestServer({
    models: { smol },
    script: () => [
      { do: "write", text: "half" },
      { do: "fail", failure: { kind: "engine-crashed", exitCode: 1, signal: null } },
    ],
  });
  const errors: unknown[] = [];
  const streamed = streamText({
    model: modelOf(server),
    ...ask,
    onError: ({ error }) => void errors.push(error),
  });
  for await (const chunk of streamed.fullStream) void chunk;
  expect(errors).toHaveLength(1);
});
