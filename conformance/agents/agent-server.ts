/**
 * @module
 * Coding agents as released, run without a terminal against `hearth serve` with default settings: each flow is one thing
 * that people do with such a program. Only the model's output comes from a script, so that a flow always takes the same
 * turns; the program decides whether each response is acceptable.
 * Nothing imports from here.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineDriver, EngineRequest, Message } from "@hearth-and-keep/engine";
import {
  createFakeEngine,
  type FakeEngineScript,
  type FakeEngineStep,
} from "@hearth-and-keep/engine/testing";
import { createLogger } from "@hearth-and-keep/logging";
import { makeTemporaryFolder, replaceHeaderInteger, testModel } from "@hearth-and-keep/test-servers";
import { serve } from "../../apps/hearth/src/commands/serve.ts";
import { readServeConfig } from "../../apps/hearth/src/config.ts";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { openStores } from "../../apps/hearth/src/models/open-stores.ts";
import { logFields } from "../../apps/hearth/src/server.ts";

export const agentKey = "canary-agent-key";
export const textModel = "text-model";
export const visionModel = "vision-model";

/** Of both models: the least that agents need. */
export const windowTokens = 32_768;

/** More words than that. */
export const longPrompt: string = "a ".repeat(40_000);

export type LogRecord = Readonly<Record<string, unknown>>;

export type AgentServer = AsyncDisposable & {
  readonly url: string;
  /** All requests to the fake engine, in order. */
  readonly requests: readonly EngineRequest[];
  logRecords(): readonly LogRecord[];
};

/** `hearth serve` with a key and otherwise default settings. */
export async function startAgentServer(script: FakeEngineScript): Promise<AgentServer> {
  await using stack = new AsyncDisposableStack();
  const models = stack.use(await makeTemporaryFolder("agent-models")).path;
  await createModels(models);
  const requests: EngineRequest[] = [];
  const lines: string[] = [];
  const stop = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = serve(readServeConfig({ port: "0", models, apiKey: agentKey }, undefined), {
    driver: fakeDriver((request, turn) => {
      requests.push(request);
      return script(request, turn);
    }),
    logger: createLogger({ level: "debug", allowedFields: logFields, write: (line) => lines.push(line) }),
    print: (line) => listening.resolve(line.split(" ").at(-1) ?? ""),
    signal: stop.signal,
    missingProtections: [],
  });
  stack.defer(async () => {
    stop.abort();
    await served;
  });
  const url = await Promise.race([listening.promise, served.then(() => "")]);
  const resources = stack.move();
  return {
    url,
    requests,
    logRecords: () => lines.map((line): LogRecord => JSON.parse(line)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The tiny model, with as much context as agents need; the fake engine does not run its weights. */
async function createModels(models: string): Promise<void> {
  const bytes = await readFile(await testModel("tiny-llama.gguf"));
  replaceHeaderInteger(bytes, "llama.context_length", windowTokens);
  await using folder = await makeTemporaryFolder("agent-model");
  const file = join(folder.path, "model.gguf");
  await writeFile(file, bytes);
  const stores = await openStores(models);
  await createFromFile(stores, { name: textModel, file });
  const projector = await testModel("tiny-projector.gguf");
  await createFromFile(stores, { name: visionModel, file, projector });
}

function fakeDriver(script: FakeEngineScript): EngineDriver {
  return {
    load: async ({ contextTokens, sequences, projectorPath }) =>
      createFakeEngine(withinContext(script, contextTokens), {
        contextTokens,
        sequences,
        chatTemplate: "<think></think><tool_call>",
        templateCapabilities: { tools: true, thinking: true },
        canSeeImages: projectorPath !== undefined,
      }),
  };
}

/** As every engine does, it rejects prompts that are too long; its tokens are words. */
function withinContext(script: FakeEngineScript, contextTokens: number): FakeEngineScript {
  return (request, turn) => {
    const promptTokens = JSON.stringify(request.input).split(/\s+/u).length;
    if (promptTokens < contextTokens) return script(request, turn);
    return [{ do: "fail", failure: { kind: "prompt-too-long", promptTokens, contextTokens } }];
  };
}

export function messagesOf({ input }: EngineRequest): readonly Message[] {
  return input.type === "conversation" ? input.conversation.messages : [];
}

export function toolResultsOf(request: EngineRequest | undefined): readonly string[] {
  const messages = request === undefined ? [] : messagesOf(request);
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

export function countImages(request: EngineRequest | undefined): number {
  const messages = request === undefined ? [] : messagesOf(request);
  return messages.flatMap((message) => (message.role === "user" ? (message.images ?? []) : [])).length;
}

/** One turn of the model: its text, or the steps of the engine. */
export type ModelTurn = string | readonly FakeEngineStep[] | ((request: EngineRequest) => string);

/** Fails in the middle of the first response with tools, and then writes the text. */
export function failFirst(text: string): FakeEngineScript {
  let attempts = 0;
  return (request) => {
    if (!hasTools(request)) return write("A short title");
    attempts += 1;
    if (attempts > 1) return write(text);
    const failure = { kind: "engine-crashed", exitCode: 1, signal: null } as const;
    return [
      { do: "write", text: "Half" },
      { do: "fail", failure },
    ];
  };
}

/** Fills the context by a call, writes a summary when asked for one, and ends once the conversation has it. */
export function fillContext(call: string, ending: string): FakeEngineScript {
  const summary = "Summary: the file is written";
  return (request) => {
    const messages = messagesOf(request);
    const isRequested = /detailed summary of the conversation/iu.test(String(messages.at(-1)?.content));
    if (!hasTools(request) || isRequested) return write(summary);
    const isSummarized = messages.some(({ content }) => content?.includes(summary));
    return isSummarized ? write(ending) : writeCounted(call, windowTokens - 100);
  };
}

/** Takes the turns in order, by how many the conversation has already; the last one is repeated. */
export function scriptOf(...turns: readonly ModelTurn[]): FakeEngineScript {
  return (request) => {
    // Agents also ask for titles and summaries, which need no tools.
    if (!hasTools(request)) return write("A short title");
    const taken = messagesOf(request).filter(({ role }) => role === "assistant").length;
    const turn = turns[Math.min(taken, turns.length - 1)] ?? "";
    if (typeof turn === "function") return write(turn(request));
    return typeof turn === "string" ? write(turn) : turn;
  };
}

export function hasTools({ input }: EngineRequest): boolean {
  return input.type === "conversation" && (input.conversation.tools ?? []).length > 0;
}

export function write(text: string): readonly FakeEngineStep[] {
  return [
    { do: "write", text },
    { do: "end", reason: "stop" },
  ];
}

/** Ends a turn with a prompt of this many tokens, so that the agent takes its context for almost full. */
function writeCounted(text: string, promptTokens: number): readonly FakeEngineStep[] {
  const usage = { promptTokens, cachedTokens: 0, outputTokens: 1 };
  const timings = { promptMilliseconds: 1, outputMilliseconds: 1 };
  return [
    { do: "write", text },
    { do: "emit", event: { type: "generation-end", reason: "stop", usage, timings } },
  ];
}

/** As a model of the Hermes format writes it. */
export function printCall(name: string, input: object): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>\n`;
}

/** Repeats the last tool result, which proves that the model received it. */
export function repeatResult(request: EngineRequest): string {
  return `The tool said: ${toolResultsOf(request).at(-1)}`;
}
