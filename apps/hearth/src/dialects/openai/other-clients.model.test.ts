import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { embedMany, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { minilm, smol, startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";

let real: TestServer;
let scripted: TestServer;
beforeAll(async () => {
  real = await startTestServer({ models: { smol, minilm } });
  scripted = await startTestServer({
    models: { chat: tiny },
    description: { splitsEvents: true },
    script: ({ input }) => {
      const said = input.type === "conversation" ? input.conversation.messages : [];
      if (said.some(({ role }) => role === "tool")) {
        return [
          { do: "write", text: "It is sunny" },
          { do: "end", reason: "stop" },
        ];
      }
      return [
        { do: "emit", event: { type: "reasoning-delta", text: "I look it up" } },
        { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_a", name: "get_weather" } },
        { do: "emit", event: { type: "tool-call-delta", index: 0, argumentsText: '{"city":"Rome"}' } },
        { do: "emit", event: { type: "tool-call-start", index: 1, id: "call_b", name: "get_weather" } },
        { do: "emit", event: { type: "tool-call-delta", index: 1, argumentsText: '{"city":"Oslo"}' } },
        { do: "end", reason: "stop" },
      ];
    },
  });
});
afterAll(async () => {
  await real[Symbol.asyncDispose]();
  await scripted[Symbol.asyncDispose]();
});

const prompt = "Count from one to nine";
const city = z.object({ city: z.string() });

const providerOf = ({ url }: TestServer) =>
  createOpenAICompatible({
    name: "hearth",
    baseURL: `${url}/v1`,
    apiKey: "anything",
    includeUsage: true,
    supportsStructuredOutputs: true,
  });

describe("ai with its OpenAI-compatible provider", () => {
  test("text is generated and streamed", async () => {
    const model = providerOf(real)("smol");
    const settings = { model, prompt, maxOutputTokens: 8, temperature: 0 };
    const whole = await generateText(settings);
    expect(whole.text).toMatch(/\w/);
    expect(whole.usage.outputTokens).toBe(8);
    const streamed = streamText(settings);
    let text = "";
    for await (const chunk of streamed.textStream) text += chunk;
    expect(text).toBe(whole.text);
    expect((await streamed.usage).outputTokens).toBe(8);
    expect(await streamed.finishReason).toBe("length");
  });

  test("an object that matches a schema is generated", async () => {
    const shape = z.object({ isSunny: z.boolean() });
    const { output } = await generateText({
      model: providerOf(real)("smol"),
      prompt,
      maxOutputTokens: 16,
      temperature: 0,
      output: Output.object({ schema: shape }),
    });
    expect(typeof output.isSunny).toBe("boolean");
  });

  test("parallel calls are run and the response continues, complete and streamed, with reasoning", async () => {
    const cities: string[] = [];
    const tools = {
      get_weather: tool({
        inputSchema: city,
        execute: async (input) => {
          cities.push(input.city);
          return "sunny";
        },
      }),
    };
    const settings = { model: providerOf(scripted)("chat"), prompt, tools, stopWhen: stepCountIs(3) };
    const whole = await generateText(settings);
    expect(whole.text).toBe("It is sunny");
    expect(whole.steps[0]?.reasoningText).toBe("I look it up");
    const streamed = streamText(settings);
    expect(await streamed.text).toBe("It is sunny");
    expect(cities.toSorted()).toEqual(["Oslo", "Oslo", "Rome", "Rome"]);
  });

  test("several texts are embedded", async () => {
    const { embeddings } = await embedMany({
      model: providerOf(real).embeddingModel("minilm"),
      values: ["Hello", "World"],
    });
    expect(embeddings.map(({ length }) => length)).toEqual([384, 384]);
  });

  test("an abort ends the request, and the next one succeeds", async () => {
    let requests = 0;
    // Real weights might finish before the client can abort.
    await using server = await startTestServer({
      models: { tiny },
      script: () =>
        (requests += 1) === 1
          ? [{ do: "wait", milliseconds: 60_000 }]
          : [
              { do: "write", text: "One" },
              { do: "end", reason: "length" },
            ],
    });
    const model = providerOf(server)("tiny");
    const hangUp = new AbortController();
    const pending = generateText({ model, prompt, abortSignal: hangUp.signal, maxRetries: 0 });
    setTimeout(() => hangUp.abort(), 200);
    await expect(pending).rejects.toThrow(/abort/i);
    expect((await generateText({ model, prompt })).finishReason).toBe("length");
  });
});

const chatOf = ({ url }: TestServer, model: string) =>
  new ChatOpenAI({
    model,
    apiKey: "anything",
    temperature: 0,
    maxTokens: 16,
    maxRetries: 0,
    configuration: { baseURL: `${url}/v1` },
  });

/** The client's type omits this field. */
const outputTokensOf = (message: object): number => {
  const usage: unknown = "usage_metadata" in message ? message.usage_metadata : undefined;
  const isCounted = typeof usage === "object" && usage !== null && "output_tokens" in usage;
  return isCounted ? Number(usage.output_tokens) : 0;
};

describe("LangChain's ChatOpenAI", () => {
  test("invokes and streams", async () => {
    const chat = chatOf(real, "smol");
    const whole = await chat.invoke([new HumanMessage(prompt)]);
    let text = "";
    let outputTokens = 0;
    for await (const chunk of await chat.stream([new HumanMessage(prompt)])) {
      text += chunk.text;
      outputTokens += outputTokensOf(chunk);
    }
    expect(text).toBe(whole.content);
    expect(outputTokens).toBeGreaterThan(0);
    expect(outputTokens).toBe(outputTokensOf(whole));
  });

  test("calls bound tools, complete and streamed", async () => {
    const weather = langChainTool(async () => "sunny", { name: "get_weather", schema: city });
    const chat = chatOf(scripted, "chat").bindTools([weather]);
    const calls = [
      { name: "get_weather", args: { city: "Rome" } },
      { name: "get_weather", args: { city: "Oslo" } },
    ];
    expect((await chat.invoke(prompt)).tool_calls).toMatchObject(calls);
    const chunks = await Array.fromAsync(await chat.stream(prompt));
    const joined = chunks.reduce((sum, chunk) => sum.concat(chunk));
    expect(joined.tool_calls).toMatchObject(calls);
  });

  test("returns structured output that matches the schema", async () => {
    const shape = z.object({ isSunny: z.boolean() });
    const chat = chatOf(real, "smol").withStructuredOutput(shape, { method: "jsonSchema" });
    expect(typeof (await chat.invoke(prompt)).isSunny).toBe("boolean");
  });

  test("returns embeddings", async () => {
    const embeddings = new OpenAIEmbeddings({
      model: "minilm",
      apiKey: "anything",
      configuration: { baseURL: `${real.url}/v1` },
    });
    expect(await embeddings.embedQuery("Hello")).toHaveLength(384);
  });
});
