import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { GraphRecursionError, MemorySaver } from "@langchain/langgraph";
import { ChatOllama } from "@langchain/ollama";
import { ChatOpenAI } from "@langchain/openai";
import {
  AIMessage,
  type BaseMessage,
  type ContentBlock,
  createAgent,
  HumanMessage,
  providerStrategy,
  tool,
  toolErrorMiddleware,
  toolStrategy,
} from "langchain";
import { expect } from "vitest";
import { z } from "zod";
import { pixel } from "../client-fixture.ts";
import {
  apiKey,
  type Flow,
  type FlowServer,
  flowsFor,
  model as modelName,
  reportPdf,
  reportSentence,
  type SharedFlow,
  testFlows,
} from "./sdk-fixture.ts";

type OpenAIFields = ConstructorParameters<typeof ChatOpenAI>[0];

const openaiOf = ({ url, fetch }: FlowServer, fields: OpenAIFields & object = {}): ChatOpenAI =>
  new ChatOpenAI({
    model: modelName,
    apiKey,
    maxRetries: 0,
    configuration: { baseURL: `${url}/v1`, fetch },
    ...fields,
  });
const anthropicOf = (
  { url, fetch }: FlowServer,
  fields: ConstructorParameters<typeof ChatAnthropic>[0] & object = {},
): ChatAnthropic =>
  new ChatAnthropic({
    model: modelName,
    apiKey,
    maxRetries: 0,
    anthropicApiUrl: `${url}/alt`,
    clientOptions: { fetch },
    ...fields,
  });

const models = {
  "chat completions": (server: FlowServer): BaseChatModel => openaiOf(server),
  responses: (server: FlowServer): BaseChatModel => openaiOf(server, { useResponsesApi: true }),
  messages: (server: FlowServer): BaseChatModel => anthropicOf(server),
  ollama: ({ url, fetch }: FlowServer): BaseChatModel =>
    new ChatOllama({ model: modelName, baseUrl: url, fetch, maxRetries: 0 }),
} as const;

type Api = keyof typeof models;

const weather = tool(
  async ({ city }: { city: string }) => {
    if (city === "Atlantis") throw new Error("There is no such city");
    return `It is sunny in ${city}`;
  },
  { name: "weather", description: "Returns the weather of a city", schema: z.object({ city: z.string() }) },
);
const camera = tool(
  async () => [{ type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } }],
  { name: "camera", description: "Takes a photo", schema: z.object({}) },
);

const systemPrompt = "You help people";
const question = "What is the weather in Rome and Oslo?";
const answer = "It is sunny in both";
const twoCalls = { calls: [["weather", { city: "Rome" }] as const, ["weather", { city: "Oslo" }] as const] };
const ask = (content: string) => ({ messages: [new HumanMessage(content)] });
const lastText = ({ messages }: { readonly messages: readonly BaseMessage[] }): string =>
  messages.at(-1)?.text ?? "";

const sunnyConversation = [
  { role: "system", content: systemPrompt },
  { role: "user", content: question },
  { role: "assistant", toolCalls: [{ arguments: { city: "Rome" } }, { arguments: { city: "Oslo" } }] },
  { role: "tool", content: "It is sunny in Rome" },
  { role: "tool", content: "It is sunny in Oslo" },
];

const sharedFlows: readonly SharedFlow<Api>[] = [
  {
    name: "two calls at once are run and lead to a response, with usage of both turns",
    turns: [twoCalls, { text: answer }],
    run: async (server, api) => {
      const agent = createAgent({ model: models[api](server), tools: [weather], systemPrompt });
      const result = await agent.invoke(ask(question));
      expect(lastText(result)).toBe(answer);
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
      const written = result.messages.filter((message) => AIMessage.isInstance(message));
      const usage_metadata = { output_tokens: expect.any(Number), input_tokens: expect.any(Number) };
      expect(written).toMatchObject([{ usage_metadata }, { usage_metadata }]);
    },
  },
  {
    name: "the same is streamed, with text in several parts",
    turns: [twoCalls, { text: answer }],
    run: async (server, api) => {
      const agent = createAgent({ model: models[api](server), tools: [weather], systemPrompt });
      const texts: string[] = [];
      for await (const [chunk] of await agent.stream(ask(question), { streamMode: "messages" })) {
        if (chunk.type === "ai" && chunk.text !== "") texts.push(chunk.text);
      }
      expect([texts.join(""), texts.length > 1]).toEqual([answer, true]);
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
    },
  },
  {
    name: "the error of a tool reaches the model, which goes on",
    turns: [{ calls: [["weather", { city: "Atlantis" }]] }, { text: "I cannot say" }],
    run: async (server, api) => {
      const middleware = [toolErrorMiddleware({ onError: String })];
      const agent = createAgent({ model: models[api](server), tools: [weather], middleware });
      expect(lastText(await agent.invoke(ask(question)))).toBe("I cannot say");
      expect(server.prompts()[1]?.at(-1)?.content).toContain("There is no such city");
    },
  },
  {
    name: "a thread remembers its first run in the second",
    turns: [{ text: "Let me look.", ...twoCalls }, { text: answer }, { text: "Rome and Oslo" }],
    run: async (server, api) => {
      const checkpointer = new MemorySaver();
      const agent = createAgent({ model: models[api](server), tools: [weather], systemPrompt, checkpointer });
      const thread = { configurable: { thread_id: "1" } };
      await agent.invoke(ask(question), thread);
      expect(lastText(await agent.invoke(ask("Which cities?"), thread))).toBe("Rome and Oslo");
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation,
        { role: "assistant", content: answer },
        { role: "user", content: "Which cities?" },
      ]);
    },
  },
  {
    name: "the response is an object of a Zod schema, written as a call",
    turns: [{ calls: [["forecast", { city: "Rome", high: 30 }]] }],
    run: async (server, api) => {
      const schema = z.object({ city: z.string(), high: z.number().int() }).meta({ title: "forecast" });
      const agent = createAgent({
        model: models[api](server),
        tools: [weather],
        responseFormat: toolStrategy(schema),
      });
      const { structuredResponse } = await agent.invoke(ask("Rome?"));
      expect(structuredResponse).toEqual({ city: "Rome", high: 30 });
    },
  },
  {
    name: "an aborted run ends, and the next one is served",
    turns: [{ isEndless: true }, { text: "Here I am" }],
    run: async (server, api) => {
      const abort = new AbortController();
      const agent = createAgent({ model: models[api](server), tools: [weather] });
      const reading = (async () => {
        let parts = 0;
        const options = { streamMode: "messages", signal: abort.signal } as const;
        for await (const _ of await agent.stream(ask("Go on"), options)) {
          parts += 1;
          if (parts === 3) abort.abort();
        }
      })();
      await expect(reading).rejects.toThrow(/abort/iu);
      expect(lastText(await agent.invoke(ask("Are you there?")))).toBe("Here I am");
    },
  },
];

const photo: ContentBlock.Multimodal.Image = { type: "image", mimeType: "image/png", data: pixel };
const report: ContentBlock.Multimodal.File = {
  type: "file",
  mimeType: "application/pdf",
  data: reportPdf.toString("base64"),
  metadata: { filename: "report.pdf" },
};

const documentFlows: readonly SharedFlow<Api>[] = [
  {
    name: "the model sees an image and reads a PDF of the user",
    turns: [{ text: "Prices fell" }],
    run: async (server, api) => {
      const agent = createAgent({ model: models[api](server) });
      const contentBlocks: ContentBlock.Standard[] = [{ type: "text", text: "What is this?" }, photo, report];
      const result = await agent.invoke({ messages: [new HumanMessage({ contentBlocks })] });
      expect(lastText(result)).toBe("Prices fell");
      expect(server.prompts()[0]?.at(-1)).toMatchObject({
        content: expect.stringContaining(reportSentence),
        images: [{ mediaType: "image/png" }],
      });
    },
  },
  {
    name: "the model sees an image that a tool returns",
    turns: [{ calls: [["camera", {}]] }, { text: "A pixel" }],
    run: async (server, api) => {
      const agent = createAgent({ model: models[api](server), tools: [camera] });
      expect(lastText(await agent.invoke(ask("Take a photo")))).toBe("A pixel");
      expect(JSON.stringify(server.prompts()[1])).toContain('"mediaType":"image/png"');
    },
  },
];

const formatFlows: readonly SharedFlow<Api>[] = [
  {
    name: "after calls the response is an object of a Zod schema, in the format of the API",
    turns: [twoCalls, { text: '{"city":"Rome","temperatures":{"noon":30}}' }],
    run: async (server, api) => {
      const schema = z.object({ city: z.string(), temperatures: z.record(z.string(), z.number()) });
      const agent = createAgent({
        model: models[api](server),
        tools: [weather],
        responseFormat: providerStrategy(schema),
      });
      const { structuredResponse } = await agent.invoke(ask("Rome?"));
      expect(structuredResponse).toEqual({ city: "Rome", temperatures: { noon: 30 } });
    },
  },
];

const thoughtful = [{ thought: "They want weather", ...twoCalls }, { text: answer }] as const;

const otherFlows: readonly Flow[] = [
  {
    name: "ollama: the model sees an image of the user",
    turns: [{ text: "A pixel" }],
    run: async (server) => {
      const agent = createAgent({ model: models.ollama(server) });
      const image_url = `data:image/png;base64,${pixel}`;
      const content = [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url },
      ];
      expect(lastText(await agent.invoke({ messages: [new HumanMessage({ content })] }))).toBe("A pixel");
      expect(server.prompts()[0]?.at(-1)).toMatchObject({ images: [{ mediaType: "image/png" }] });
    },
  },
  {
    name: "responses: old output is sent back as it came, with reasoning",
    turns: thoughtful,
    run: async (server) => {
      const model = openaiOf(server, {
        useResponsesApi: true,
        reasoning: { effort: "low", summary: "auto" },
      });
      const agent = createAgent({ model, tools: [weather], systemPrompt });
      expect(lastText(await agent.invoke(ask(question)))).toBe(answer);
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "They want weather" });
    },
  },
  {
    name: "responses: without storage, sealed reasoning is sent back and reaches the model",
    turns: thoughtful,
    run: async (server) => {
      const model = openaiOf(server, { useResponsesApi: true, zdrEnabled: true });
      const agent = createAgent({ model, tools: [weather], systemPrompt });
      expect(lastText(await agent.invoke(ask(question)))).toBe(answer);
      expect(server.bodies()[0]).toMatchObject({ store: false });
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "They want weather" });
    },
  },
  {
    name: "responses: a request continues the previous response by its id",
    turns: [{ text: "Hello Ada" }, { text: "Your name is Ada" }],
    run: async (server) => {
      const model = openaiOf(server, { useResponsesApi: true });
      const first = await model.invoke("I am Ada");
      const previous_response_id = String(first.response_metadata["id"]);
      const second = await model.invoke("Who am I?", { previous_response_id });
      expect(second.text).toBe("Your name is Ada");
      expect(server.prompts()[1]).toHaveLength(3);
    },
  },
  {
    name: "messages: signed thinking is sent back and reaches the model",
    turns: thoughtful,
    run: async (server) => {
      const thinking = { type: "enabled", budget_tokens: 1024 } as const;
      const model = anthropicOf(server, { thinking, maxTokens: 4096 });
      const agent = createAgent({ model, tools: [weather], systemPrompt });
      expect(lastText(await agent.invoke(ask(question)))).toBe(answer);
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "They want weather" });
    },
  },
  {
    name: "chat completions: a model that only calls tools reaches the maximum of steps",
    turns: [twoCalls, twoCalls],
    run: async (server) => {
      const agent = createAgent({ model: openaiOf(server), tools: [weather] });
      const endless = agent.invoke(ask(question), { recursionLimit: 4 });
      await expect(endless).rejects.toBeInstanceOf(GraphRecursionError);
    },
  },
];

testFlows(
  ["langchain", "@langchain/openai", "@langchain/anthropic", "@langchain/ollama"],
  [
    ...flowsFor(["chat completions", "responses", "messages", "ollama"], sharedFlows),
    ...flowsFor(["chat completions", "responses", "messages"], documentFlows),
    ...flowsFor(["chat completions", "responses"], formatFlows),
    ...otherFlows,
  ],
);
