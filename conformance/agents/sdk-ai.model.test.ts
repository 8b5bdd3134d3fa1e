import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  generateText,
  type LanguageModel,
  type ModelMessage,
  Output,
  stepCountIs,
  streamText,
  ToolLoopAgent,
  tool,
} from "ai";
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

const openaiOf = ({ url, fetch }: FlowServer) => createOpenAI({ baseURL: `${url}/v1`, apiKey, fetch });

/** `openai("model")` is the Responses API. */
const providers = {
  responses: (server: FlowServer): LanguageModel => openaiOf(server)(modelName),
  "chat completions": (server: FlowServer): LanguageModel => openaiOf(server).chat(modelName),
  messages: ({ url, fetch }: FlowServer): LanguageModel =>
    createAnthropic({ baseURL: `${url}/alt/v1`, apiKey, fetch })(modelName),
} as const;

type Api = keyof typeof providers;

const weather = tool({
  description: "Returns the weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === "Atlantis") throw new Error("There is no such city");
    return `It is sunny in ${city}`;
  },
});
const camera = tool({
  description: "Takes a photo",
  inputSchema: z.object({}),
  execute: async () => pixel,
  toModelOutput: ({ output }) => ({
    type: "content",
    value: [
      { type: "text", text: "A photo:" },
      { type: "file", data: { type: "data", data: output }, mediaType: "image/png" },
    ],
  }),
});

const instructions = "You help people";
const question = "What is the weather in Rome and Oslo?";
const answer = "It is sunny in both";
const twoCalls = { calls: [["weather", { city: "Rome" }] as const, ["weather", { city: "Oslo" }] as const] };
const withTools = { instructions, tools: { weather }, stopWhen: stepCountIs(4), maxRetries: 0 };

const sunnyConversation = [
  { role: "system", content: instructions },
  { role: "user", content: question },
  { role: "assistant", toolCalls: [{ arguments: { city: "Rome" } }, { arguments: { city: "Oslo" } }] },
  { role: "tool", content: "It is sunny in Rome", toolName: "weather" },
  { role: "tool", content: "It is sunny in Oslo", toolName: "weather" },
];

const userMessage = (content: Extract<ModelMessage, { role: "user" }>["content"]): ModelMessage[] => [
  { role: "user", content },
];
const photo = { type: "file", mediaType: "image/png", data: pixel } as const;
const report = {
  type: "file",
  mediaType: "application/pdf",
  data: reportPdf,
  filename: "report.pdf",
} as const;

const sharedFlows: readonly SharedFlow<Api>[] = [
  {
    name: "two calls at once are run and lead to a response, with usage of both steps",
    turns: [twoCalls, { text: answer }],
    run: async (server, api) => {
      const { text, steps, usage } = await generateText({
        ...withTools,
        model: providers[api](server),
        prompt: question,
      });
      expect([text, ...steps.map(({ finishReason }) => finishReason)]).toEqual([
        answer,
        "tool-calls",
        "stop",
      ]);
      expect([(usage.inputTokens ?? 0) > 0, (usage.outputTokens ?? 0) > 0]).toEqual([true, true]);
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
    },
  },
  {
    name: "the same is streamed, with text in several parts",
    turns: [twoCalls, { text: answer }],
    run: async (server, api) => {
      const streamed = streamText({ ...withTools, model: providers[api](server), prompt: question });
      const deltas = await Array.fromAsync(streamed.textStream);
      expect([deltas.join(""), deltas.length > 1]).toEqual([answer, true]);
      expect(await streamed.finishReason).toBe("stop");
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
    },
  },
  {
    name: "the error of a tool reaches the model, which goes on",
    turns: [{ calls: [["weather", { city: "Atlantis" }]] }, { text: "I cannot say" }],
    run: async (server, api) => {
      const { text } = await generateText({ ...withTools, model: providers[api](server), prompt: question });
      expect(text).toBe("I cannot say");
      expect(server.prompts()[1]?.at(-1)?.content).toContain("There is no such city");
    },
  },
  {
    name: "a second turn continues the conversation",
    turns: [{ text: "Let me look.", ...twoCalls }, { text: answer }, { text: "Rome and Oslo" }],
    run: async (server, api) => {
      const model = providers[api](server);
      const messages = userMessage(question);
      const first = await generateText({ ...withTools, model, messages });
      const second = await generateText({
        ...withTools,
        model,
        messages: [...messages, ...first.responseMessages, ...userMessage("Which cities?")],
      });
      expect(second.text).toBe("Rome and Oslo");
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation,
        { role: "assistant", content: answer },
        { role: "user", content: "Which cities?" },
      ]);
      expect(server.prompts()[2]?.[2]?.content).toBe("Let me look.");
    },
  },
  {
    name: "the model sees an image and reads a PDF of the user",
    turns: [{ text: "Prices fell" }],
    run: async (server, api) => {
      const messages = userMessage([{ type: "text", text: "What is this?" }, photo, report]);
      const { text } = await generateText({ model: providers[api](server), messages, maxRetries: 0 });
      expect(text).toBe("Prices fell");
      expect(server.prompts()[0]?.at(-1)).toMatchObject({
        content: expect.stringContaining(reportSentence),
        images: [{ mediaType: "image/png" }],
      });
    },
  },
  {
    name: "a call is required, and none is made when tools are off",
    turns: [{ calls: [["weather", { city: "Rome" }]] }, { text: "No tools" }],
    run: async (server, api) => {
      const settings = {
        ...withTools,
        stopWhen: stepCountIs(1),
        model: providers[api](server),
        prompt: question,
      };
      const forced = await generateText({
        ...settings,
        toolChoice: { type: "tool", toolName: "weather" },
      });
      expect(forced.toolCalls).toMatchObject([{ toolName: "weather", input: { city: "Rome" } }]);
      const none = await generateText({ ...settings, toolChoice: "none" });
      expect([none.text, none.toolCalls]).toEqual(["No tools", []]);
    },
  },
  {
    name: "an aborted stream ends, and the next request is served",
    turns: [{ isEndless: true }, { text: "Here I am" }],
    run: async (server, api) => {
      const abort = new AbortController();
      const model = providers[api](server);
      const streamed = streamText({ model, prompt: "Go on", maxRetries: 0, abortSignal: abort.signal });
      const types: string[] = [];
      for await (const { type } of streamed.fullStream) {
        types.push(type);
        if (types.filter((each) => each === "text-delta").length === 3) abort.abort();
      }
      expect(types.at(-1)).toBe("abort");
      expect((await generateText({ model, prompt: "Are you there?", maxRetries: 0 })).text).toBe("Here I am");
    },
  },
];

const forecast = z.object({
  city: z.string(),
  temperatures: z.record(z.string(), z.number()),
  notes: z.string().optional(),
});
const forecastText = '{"city":"Rome","temperatures":{"noon":30}}';

const objectFlows: readonly SharedFlow<Api>[] = [
  {
    name: "after calls an object of a Zod schema with a record is generated and streamed",
    turns: [twoCalls, { text: forecastText }, twoCalls, { text: forecastText }],
    run: async (server, api) => {
      const output = Output.object({ schema: forecast });
      const settings = { ...withTools, model: providers[api](server), prompt: "Rome?", output };
      expect((await generateText(settings)).output).toEqual(JSON.parse(forecastText));
      const streamed = streamText(settings);
      const partial = await Array.fromAsync(streamed.partialOutputStream);
      expect([partial.length > 1, await streamed.output]).toEqual([true, JSON.parse(forecastText)]);
    },
  },
];

const isReasoning = { openai: { forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto" } };
const thoughtful = [{ thought: "They want weather", ...twoCalls }, { text: answer }] as const;

const responsesFlows: readonly Flow[] = [
  {
    name: "responses: the second turn refers to stored text and reasoning by their ids",
    turns: [...thoughtful, { text: "Rome and Oslo" }],
    run: async (server) => {
      const settings = { ...withTools, model: providers.responses(server), providerOptions: isReasoning };
      const messages = userMessage(question);
      const first = await generateText({ ...settings, messages });
      expect(first.steps[0]?.reasoningText).toBe("They want weather");
      await generateText({
        ...settings,
        messages: [...messages, ...first.responseMessages, ...userMessage("Which cities?")],
      });
      expect(JSON.stringify(server.bodies()[2])).toContain('"item_reference"');
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation.slice(0, 2),
        { role: "assistant", reasoning: "They want weather" },
        ...sunnyConversation.slice(3),
        { role: "assistant", content: answer },
        { role: "user", content: "Which cities?" },
      ]);
    },
  },
  {
    name: "responses: without storage, sealed reasoning is sent back and reaches the model",
    turns: thoughtful,
    run: async (server) => {
      const providerOptions = { openai: { ...isReasoning.openai, store: false } };
      const model = providers.responses(server);
      const streamed = streamText({ ...withTools, model, prompt: question, providerOptions });
      expect(await streamed.text).toBe(answer);
      expect(server.bodies()).toMatchObject([
        { store: false, include: ["reasoning.encrypted_content"] },
        { store: false },
      ]);
      expect(JSON.stringify(server.bodies()[1])).not.toContain('"item_reference"');
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "They want weather" });
    },
  },
  {
    name: "responses: a request continues the previous response by its id",
    turns: [{ text: "Hello Ada" }, { text: "Your name is Ada" }],
    run: async (server) => {
      const model = providers.responses(server);
      const first = await generateText({ model, prompt: "I am Ada", maxRetries: 0 });
      const previousResponseId = first.response.id;
      const second = await generateText({
        model,
        prompt: "Who am I?",
        maxRetries: 0,
        providerOptions: { openai: { previousResponseId } },
      });
      expect(second.text).toBe("Your name is Ada");
      expect(server.prompts()[1]?.map(({ content }) => content)).toEqual([
        "I am Ada",
        "Hello Ada",
        "Who am I?",
      ]);
    },
  },
  {
    name: "responses: two requests share a conversation of the server",
    turns: [...thoughtful, { text: "Rome and Oslo" }],
    run: async (server) => {
      const created = await server.fetch(`${server.url}/v1/conversations`, { method: "POST" });
      // The server's own response.
      const { id: conversation } = (await created.json()) as { readonly id: string };
      const settings = {
        ...withTools,
        model: providers.responses(server),
        providerOptions: { openai: { conversation } },
      };
      await generateText({ ...settings, prompt: question });
      const second = await generateText({ ...settings, prompt: "Which cities?" });
      expect(second.text).toBe("Rome and Oslo");
      expect(server.prompts()[2]?.map(({ content }) => content)).toEqual(
        expect.arrayContaining([question, "It is sunny in Rome", "It is sunny in Oslo", answer]),
      );
    },
  },
  {
    name: "responses: an agent that loops sees an image that a tool returns",
    turns: [{ calls: [["camera", {}]] }, { text: "A pixel" }],
    run: async (server) => {
      const agent = new ToolLoopAgent({ model: providers.responses(server), tools: { camera } });
      expect((await agent.generate({ prompt: "Take a photo" })).text).toBe("A pixel");
      expect(JSON.stringify(server.prompts()[1])).toContain('"mediaType":"image/png"');
    },
  },
  {
    name: "responses: a model that only calls tools stops after the maximum of steps",
    turns: [twoCalls, twoCalls],
    run: async (server) => {
      const model = providers.responses(server);
      const settings = { ...withTools, stopWhen: stepCountIs(2) };
      const { steps, finishReason } = await generateText({ ...settings, model, prompt: question });
      expect([steps.length, finishReason]).toEqual([2, "tool-calls"]);
    },
  },
  {
    name: "messages: the model sees an image that a tool returns",
    turns: [{ calls: [["camera", {}]] }, { text: "A pixel" }],
    run: async (server) => {
      const agent = new ToolLoopAgent({ model: providers.messages(server), tools: { camera } });
      expect((await agent.generate({ prompt: "Take a photo" })).text).toBe("A pixel");
      expect(JSON.stringify(server.prompts()[1])).toContain('"mediaType":"image/png"');
    },
  },
  {
    name: "messages: signed thinking is sent back and reaches the model",
    turns: thoughtful,
    run: async (server) => {
      const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
      const model = providers.messages(server);
      const { text, steps } = await generateText({ ...withTools, model, prompt: question, providerOptions });
      expect([text, steps[0]?.reasoningText]).toEqual([answer, "They want weather"]);
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "They want weather" });
    },
  },
];

testFlows(
  ["ai", "@ai-sdk/openai", "@ai-sdk/anthropic"],
  [
    ...flowsFor(["responses", "chat completions", "messages"], sharedFlows),
    ...flowsFor(["responses", "chat completions"], objectFlows),
    ...responsesFlows,
  ],
);
