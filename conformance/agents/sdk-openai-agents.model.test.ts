import {
  Agent,
  type AgentInputItem,
  InputGuardrailTripwireTriggered,
  MaxTurnsExceededError,
  MemorySession,
  OpenAIConversationsSession,
  OpenAIProvider,
  OpenAIResponsesCompactionSession,
  Runner,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { expect } from "vitest";
import { z } from "zod";
import { pixel } from "../client-fixture.ts";
import {
  apiKey,
  type Flow,
  type FlowServer,
  flowsFor,
  gptModel,
  model,
  reportPdf,
  reportSentence,
  type SharedFlow,
  testFlows,
} from "./sdk-fixture.ts";

type Api = "responses" | "chat completions";

const clientOf = ({ url, fetch }: FlowServer): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch, maxRetries: 0 });

function runnerOf(server: FlowServer, api: Api = "responses"): Runner {
  const modelProvider = new OpenAIProvider({
    openAIClient: clientOf(server),
    useResponses: api === "responses",
  });
  return new Runner({ model, modelProvider, tracingDisabled: true });
}

const weather = tool({
  name: "weather",
  description: "Returns the weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === "Atlantis") throw new Error("There is no such city");
    return `It is sunny in ${city}`;
  },
});

const instructions = "You help people";
const assistant = new Agent({ name: "Assistant", instructions, tools: [weather] });
const twoCalls = { calls: [["weather", { city: "Rome" }] as const, ["weather", { city: "Oslo" }] as const] };
const answer = "It is sunny in both";
const question = "What is the weather in Rome and Oslo?";

const userMessage = (...content: readonly object[]): AgentInputItem[] => [
  // The parts of each flow are those of the client's own types.
  { type: "message", role: "user", content: content as never },
];
const image = `data:image/png;base64,${pixel}`;
const file = `data:application/pdf;base64,${reportPdf.toString("base64")}`;

const sunnyConversation = [
  { role: "system", content: instructions },
  { role: "user", content: question },
  {
    role: "assistant",
    content: null,
    toolCalls: [{ arguments: { city: "Rome" } }, { arguments: { city: "Oslo" } }],
  },
  { role: "tool", content: "It is sunny in Rome", toolName: "weather" },
  { role: "tool", content: "It is sunny in Oslo", toolName: "weather" },
];

const sharedFlows: readonly SharedFlow<Api>[] = [
  {
    name: "two calls at once are run and lead to a response, with usage of both turns",
    turns: [{ thought: "I look it up", ...twoCalls }, { text: answer }],
    run: async (server, api) => {
      const result = await runnerOf(server, api).run(assistant, question);
      expect(result.finalOutput).toBe(answer);
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
      const { requests, inputTokens, outputTokens } = result.runContext.usage;
      expect([requests, inputTokens > 0, outputTokens > 0]).toEqual([2, true, true]);
    },
  },
  {
    name: "the same is streamed, with text in several parts",
    turns: [twoCalls, { text: answer }],
    run: async (server, api) => {
      const result = await runnerOf(server, api).run(assistant, question, { stream: true });
      const deltas: string[] = [];
      for await (const event of result) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta")
          deltas.push(event.data.delta);
      }
      expect(deltas.join("")).toBe(answer);
      expect(deltas.length).toBeGreaterThan(1);
      expect(result.finalOutput).toBe(answer);
      expect(server.prompts()[1]).toMatchObject(sunnyConversation);
      expect(result.runContext.usage.requests).toBe(2);
    },
  },
  {
    name: "the error of a tool reaches the model, which goes on",
    turns: [{ calls: [["weather", { city: "Atlantis" }]] }, { text: "I cannot say" }],
    run: async (server, api) => {
      const result = await runnerOf(server, api).run(assistant, question);
      expect(result.finalOutput).toBe("I cannot say");
      expect(server.prompts()[1]?.at(-1)?.content).toContain("An error occurred while running the tool");
    },
  },
  {
    name: "an agent hands over to another, which responds",
    turns: [{ calls: [["transfer_to_Poet", {}]] }, { text: "A rose is a rose" }],
    run: async (server, api) => {
      const poet = new Agent({ name: "Poet", instructions: "You write poems" });
      const triage = new Agent({ name: "Triage", instructions, handoffs: [poet] });
      const result = await runnerOf(server, api).run(triage, "A poem, please");
      expect([result.lastAgent?.name, result.finalOutput]).toEqual(["Poet", "A rose is a rose"]);
      expect(server.prompts()[1]?.[0]).toEqual({ role: "system", content: "You write poems" });
    },
  },
  {
    name: "after its calls the response is an object of a Zod schema",
    turns: [twoCalls, { text: '{"city":"Rome","high":30,"notes":null,"kind":"dry"}' }],
    run: async (server, api) => {
      const outputType = z.object({
        city: z.string(),
        high: z.number().int().min(-90).max(60),
        notes: z.array(z.string()).nullable(),
        kind: z.enum(["dry", "wet"]),
      });
      const forecaster = new Agent({ name: "Forecaster", outputType, tools: [weather] });
      const { finalOutput } = await runnerOf(server, api).run(forecaster, "Rome?");
      expect(finalOutput).toEqual({ city: "Rome", high: 30, notes: null, kind: "dry" });
    },
  },
  {
    name: "the model sees an image of the user",
    turns: [{ text: "A pixel" }],
    run: async (server, api) => {
      const input = userMessage(
        { type: "input_text", text: "What is this?" },
        { type: "input_image", image },
      );
      const { finalOutput } = await runnerOf(server, api).run(assistant, input);
      expect(finalOutput).toBe("A pixel");
      expect(server.prompts()[0]?.at(-1)).toMatchObject({ images: [{ mediaType: "image/png" }] });
    },
  },
  {
    name: "the model reads a PDF of the user",
    turns: [{ text: "Prices fell" }],
    run: async (server, api) => {
      const input = userMessage(
        { type: "input_text", text: "What happened?" },
        { type: "input_file", file, filename: "report.pdf" },
      );
      const { finalOutput } = await runnerOf(server, api).run(assistant, input);
      expect(finalOutput).toBe("Prices fell");
      expect(server.prompts()[0]?.at(-1)?.content).toContain(reportSentence);
    },
  },
  {
    name: "a call is required, and none is made when tools are off",
    turns: [{ calls: [["weather", { city: "Rome" }]] }, { text: "Done" }, { text: "No tools" }],
    run: async (server, api) => {
      const forced = assistant.clone({ modelSettings: { toolChoice: "weather" } });
      expect((await runnerOf(server, api).run(forced, question)).finalOutput).toBe("Done");
      const none = assistant.clone({ modelSettings: { toolChoice: "none" } });
      expect((await runnerOf(server, api).run(none, question)).finalOutput).toBe("No tools");
    },
  },
  {
    name: "a session remembers the first run in the second",
    turns: [twoCalls, { text: answer }, { text: "You asked about the weather" }],
    run: async (server, api) => {
      const session = new MemorySession();
      const runner = runnerOf(server, api);
      await runner.run(assistant, question, { session });
      const second = await runner.run(assistant, "What did I ask?", { session });
      expect(second.finalOutput).toBe("You asked about the weather");
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation,
        { role: "assistant", content: answer },
        { role: "user", content: "What did I ask?" },
      ]);
    },
  },
  {
    name: "an aborted stream ends, and the next run is served",
    turns: [{ isEndless: true }, { text: "Here I am" }],
    run: async (server, api) => {
      const abort = new AbortController();
      const runner = runnerOf(server, api);
      const result = await runner.run(assistant, "Go on", { stream: true, signal: abort.signal });
      let parts = 0;
      for await (const event of result) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") parts += 1;
        if (parts === 3) abort.abort();
      }
      expect([result.cancelled, parts >= 3]).toEqual([true, true]);
      expect((await runner.run(assistant, "Are you there?")).finalOutput).toBe("Here I am");
    },
  },
];

const stateFlows: readonly Flow[] = [
  {
    name: "responses: reasoning is sent back and reaches the model",
    turns: [{ thought: "The user wants weather", ...twoCalls }, { text: answer }],
    run: async (server) => {
      const result = await runnerOf(server).run(assistant, question);
      expect(result.newItems.map(({ type }) => type)).toContain("reasoning_item");
      expect(server.prompts()[1]?.[2]).toMatchObject({ reasoning: "The user wants weather" });
    },
  },
  {
    name: "responses: a run continues the previous response by its id",
    turns: [twoCalls, { text: answer }, { text: "Rome and Oslo" }],
    run: async (server) => {
      const runner = runnerOf(server);
      const first = await runner.run(assistant, question);
      const previousResponseId = first.lastResponseId ?? "";
      const second = await runner.run(assistant, "Which cities?", { previousResponseId });
      expect(second.finalOutput).toBe("Rome and Oslo");
      expect(server.bodies()[2]).toMatchObject({ previous_response_id: previousResponseId });
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation,
        { role: "assistant", content: answer },
        { role: "user", content: "Which cities?" },
      ]);
    },
  },
  {
    name: "responses: two runs share a conversation of the server",
    turns: [twoCalls, { text: answer }, { text: "Rome and Oslo" }],
    run: async (server) => {
      const { id: conversationId } = await clientOf(server).conversations.create({});
      const runner = runnerOf(server);
      await runner.run(assistant, question, { conversationId });
      const second = await runner.run(assistant, "Which cities?", { conversationId });
      expect(second.finalOutput).toBe("Rome and Oslo");
      expect(server.prompts()[2]).toMatchObject([
        ...sunnyConversation,
        { role: "assistant", content: answer },
        { role: "user", content: "Which cities?" },
      ]);
    },
  },
  {
    name: "responses: a session is stored as a conversation on the server",
    turns: [{ thought: "Look", ...twoCalls }, { text: answer }, { text: "Rome and Oslo" }],
    run: async (server) => {
      const session = new OpenAIConversationsSession({ client: clientOf(server) });
      const runner = runnerOf(server);
      await runner.run(assistant, question, { session });
      const second = await runner.run(assistant, "Which cities?", { session });
      expect(second.finalOutput).toBe("Rome and Oslo");
      expect(server.prompts()[2]?.map(({ role }) => role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
      ]);
      await session.popItem();
      expect((await session.getItems()).at(-1)).toMatchObject({ role: "user" });
      await session.clearSession();
    },
  },
];

type CompactionMode = "previous_response_id" | "input";

async function continueFromSummary(server: FlowServer, compactionMode: CompactionMode): Promise<void> {
  const session = new OpenAIResponsesCompactionSession({
    client: clientOf(server),
    model: gptModel,
    compactionMode,
    shouldTriggerCompaction: ({ compactionCandidateItems }) => compactionCandidateItems.length >= 5,
  });
  const runner = runnerOf(server);
  const first = await runner.run(assistant, question, { session });
  expect(first.finalOutput).toBe(answer);
  expect(server.prompts()[2]?.at(-2)).toMatchObject({ role: "assistant", content: answer });
  const items = await session.getItems();
  expect(items.map(({ type }) => type)).toEqual(["message", "compaction"]);
  const second = await runner.run(assistant, "Which cities?", { session });
  expect(second.finalOutput).toBe("Rome and Oslo");
  expect(server.prompts()[3]).toMatchObject([
    { role: "system", content: instructions },
    // The client sends nothing that was before the summary.
    { role: "user" },
    { role: "assistant", content: expect.stringMatching(/^Summary .*\nIt is sunny there$/u) },
    { role: "user", content: "Which cities?" },
  ]);
}

const compactionFlows = (["previous_response_id", "input"] as const).map(
  (mode): Flow => ({
    name: `responses: a session is compacted by ${mode}, and the next run goes on from the summary`,
    turns: [twoCalls, { text: answer }, { text: "It is sunny there" }, { text: "Rome and Oslo" }],
    run: (server) => continueFromSummary(server, mode),
  }),
);

const camera = tool({
  name: "camera",
  description: "Takes a photo",
  parameters: z.object({}),
  execute: async () => ({ type: "image" as const, image: { data: pixel, mediaType: "image/png" } }),
});

const archive = tool({
  name: "archive",
  description: "Returns the annual report",
  parameters: z.object({}),
  execute: async () => ({
    type: "file" as const,
    file: { data: reportPdf.toString("base64"), mediaType: "application/pdf", filename: "report.pdf" },
  }),
});

const toolFlows: readonly Flow[] = [
  {
    name: "responses: the model sees an image that a tool returns",
    turns: [{ calls: [["camera", {}]] }, { text: "A pixel" }],
    run: async (server) => {
      const photographer = new Agent({ name: "Photographer", tools: [camera] });
      const { finalOutput } = await runnerOf(server).run(photographer, "Take a photo");
      expect(finalOutput).toBe("A pixel");
      expect(JSON.stringify(server.prompts()[1])).toContain('"mediaType":"image/png"');
    },
  },
  {
    name: "responses: the model reads a PDF that a tool returns",
    turns: [{ calls: [["archive", {}]] }, { text: "Prices fell" }],
    run: async (server) => {
      const archivist = new Agent({ name: "Archivist", tools: [archive] });
      const { finalOutput } = await runnerOf(server).run(archivist, "Read the report");
      expect(finalOutput).toBe("Prices fell");
      expect(server.prompts()[1]?.at(-1)?.content).toContain(reportSentence);
    },
  },
  {
    name: "responses: an agent is the tool of another",
    turns: [{ calls: [["ask_poet", { input: "A rose" }]] }, { text: "A rose is a rose" }, { text: "Done" }],
    run: async (server) => {
      const runner = runnerOf(server);
      const poet = new Agent({ name: "Poet", instructions: "You write poems" });
      const askPoet = poet.asTool({
        toolName: "ask_poet",
        toolDescription: "Asks the poet",
        runConfig: runner.config,
      });
      const editor = new Agent({ name: "Editor", tools: [askPoet] });
      expect((await runner.run(editor, "A poem")).finalOutput).toBe("Done");
      expect(server.prompts()[1]?.at(-1)).toMatchObject({ role: "user", content: "A rose" });
      expect(server.prompts()[2]?.at(-1)).toMatchObject({ role: "tool", content: "A rose is a rose" });
    },
  },
  {
    name: "responses: a call waits for approval, and its run is resumed",
    turns: [{ calls: [["wipe", { folder: "a" }]] }, { text: "Wiped" }],
    run: async (server) => {
      const wipe = tool({
        name: "wipe",
        description: "Deletes a folder",
        parameters: z.object({ folder: z.string() }),
        needsApproval: true,
        execute: async ({ folder }) => `${folder} is deleted`,
      });
      const cleaner = new Agent({ name: "Cleaner", tools: [wipe] });
      const runner = runnerOf(server);
      const paused = await runner.run(cleaner, "Clean up");
      expect(paused.interruptions).toHaveLength(1);
      for (const each of paused.interruptions) paused.state.approve(each);
      expect((await runner.run(cleaner, paused.state)).finalOutput).toBe("Wiped");
      expect(server.prompts()[1]?.at(-1)?.content).toBe("a is deleted");
    },
  },
  {
    name: "responses: a guardrail of another agent stops the run",
    turns: [{ text: '{"isHomework":true}' }],
    run: async (server) => {
      const runner = runnerOf(server);
      const guard = new Agent({ name: "Guard", outputType: z.object({ isHomework: z.boolean() }) });
      const tutor = new Agent({
        name: "Tutor",
        inputGuardrails: [
          {
            name: "No homework",
            runInParallel: false,
            execute: async ({ input }) => {
              const { finalOutput } = await runner.run(guard, input);
              return { tripwireTriggered: finalOutput?.isHomework === true, outputInfo: finalOutput };
            },
          },
        ],
      });
      const stopped = runner.run(tutor, "Solve x + 1 = 2");
      await expect(stopped).rejects.toBeInstanceOf(InputGuardrailTripwireTriggered);
    },
  },
  {
    name: "responses: a model that only calls tools reaches the maximum of turns",
    turns: [twoCalls, twoCalls],
    run: async (server) => {
      const endless = runnerOf(server).run(assistant, question, { maxTurns: 2 });
      await expect(endless).rejects.toBeInstanceOf(MaxTurnsExceededError);
    },
  },
];

testFlows(
  ["@openai/agents"],
  [
    ...flowsFor(["responses", "chat completions"], sharedFlows),
    ...stateFlows,
    ...compactionFlows,
    ...toolFlows,
  ],
);
