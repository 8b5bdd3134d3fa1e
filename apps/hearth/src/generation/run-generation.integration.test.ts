import { setImmediate as nextTurn } from "node:timers/promises";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { createFakeEngine, type FakeEngine, type FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCatalog } from "../models/catalog.ts";
import { createFromFile } from "../models/create-from-file.ts";
import type { ModelDescription } from "../models/metadata/describe-model.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { createScheduler, type Scheduler } from "../scheduling/scheduler.ts";
import { countPrompt } from "./count-prompt.ts";
import type { GenerationRequest } from "./request.ts";
import { runGeneration } from "./run-generation.ts";

const never = new AbortController().signal;
let model: ModelDescription;
let engine: FakeEngine;
let scheduler: Scheduler;
let outputChunks = 0;
const logFields: Record<string, string | number> = {};

beforeAll(async () => {
  await using folder = await makeTemporaryFolder("models");
  const store = await openModelStore(folder.path, "own");
  const extras = {
    system: "You are short",
    parameters: { temperature: 0.3, num_ctx: 300, stop: ["<end>"] },
    messages: [{ role: "user", content: "example" }] as const,
  };
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf"), extras });
  model = await createCatalog([store]).describe("tiny");
  engine = createFakeEngine(() => [
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ]);
  scheduler = createScheduler({ driver: { load: async () => engine } });
});
afterAll(() => scheduler.close(0));

const run = (generation: GenerationRequest) =>
  runGeneration(
    generation,
    { scheduler, metrics: { countOutputChunk: () => void (outputChunks += 1) } },
    {
      signal: never,
      addLogFields: (fields) => void Object.assign(logFields, fields),
      addResponseHeaders: () => undefined,
    },
  );

function request(changes: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    model,
    input: { type: "conversation", conversation: { messages: [{ role: "user", content: "Hi" }] } },
    sampling: { seed: 5 },
    toolChoice: { type: "auto" },
    cachePartition: "one",
    overflow: "reject",
    ...changes,
  };
}

test("a generation starts with generation-start and releases its lease at the end", async () => {
  const events = await Array.fromAsync(run(request()));
  expect(events[0]).toMatchObject({ type: "generation-start", droppedMessages: 0, seed: 5 });
  expect(events.map(({ type }) => type)).toEqual(["generation-start", "text-delta", "generation-end"]);
  expect(scheduler.queueLengths()).toEqual([expect.objectContaining({ leases: 0, waiting: 0 })]);
});

test("a model stays leased while the tokens of a prompt are counted", async () => {
  let leases: number | undefined;
  const count = async (): Promise<number> => {
    await nextTurn();
    leases = counting.queueLengths()[0]?.leases;
    return 3;
  };
  const counted = { ...createFakeEngine(() => []), count };
  const counting = createScheduler({ driver: { load: async () => counted } });
  expect(await countPrompt(request(), counting, never)).toBe(3);
  expect(leases).toBe(1);
  await counting.close(0);
});

test("the log has token counts and durations, the metrics have every output chunk, and neither has the text", async () => {
  outputChunks = 0;
  await Array.fromAsync(run(request()));
  expect(outputChunks).toBe(1);
  expect(logFields).toMatchObject({ outputTokens: 1, stopReason: "stop" });
  expect(Object.keys(logFields)).toEqual(
    expect.arrayContaining(["queueMilliseconds", "loadMilliseconds", "firstTokenMilliseconds"]),
  );
  expect(JSON.stringify(logFields)).not.toContain("Hello");
});

test("a client that stops reading early releases its lease too", async () => {
  for await (const event of run(request())) if (event.type === "text-delta") break;
  expect(scheduler.queueLengths()).toEqual([expect.objectContaining({ leases: 0 })]);
});

test("the model's parameters, system message and examples apply unless the request has its own", async () => {
  await Array.fromAsync(run(request()));
  const received = engine.requests.at(-1);
  expect(received?.sampling).toMatchObject({ temperature: 0.3, topP: 0.9, seed: 5 });
  expect(received?.input).toMatchObject({
    conversation: {
      messages: [
        { role: "system", content: "You are short" },
        { role: "user", content: "example" },
        { role: "user", content: "Hi" },
      ],
    },
  });
});

test("a request's system message and parameters override the model's", async () => {
  const messages = [
    { role: "system", content: "Be long" },
    { role: "user", content: "Hi" },
  ] as const;
  const own = request({
    input: { type: "conversation", conversation: { messages } },
    sampling: { temperature: 1 },
  });
  await Array.fromAsync(run(own));
  const received = engine.requests.at(-1);
  expect(received?.sampling).toMatchObject({ temperature: 1 });
  expect(received?.input).toMatchObject({
    conversation: { messages: [{ content: "Be long" }, { content: "example" }, { content: "Hi" }] },
  });
});

const interrupted: EngineFailure = { kind: "engine-unloaded", wasInterrupted: true };
const answer = [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
] as const;

/** Each load runs the next of these scripts. */
async function runOnEngines(scripts: readonly (readonly FakeEngineStep[])[]) {
  let loads = 0;
  const restarting = createScheduler({
    driver: { load: async () => createFakeEngine(() => scripts[loads++] ?? answer) },
  });
  const types: string[] = [];
  let failure: unknown;
  try {
    const events = runGeneration(
      request(),
      { scheduler: restarting, metrics: { countOutputChunk: () => undefined } },
      { signal: never, addLogFields: () => undefined, addResponseHeaders: () => undefined },
    );
    for await (const event of events) types.push(event.type);
  } catch (error) {
    failure = error instanceof FailureError ? error.failure : error;
  }
  await restarting.close(0);
  return { types, failure, loads };
}

test("a generation without output is repeated when another request stalled its engine", async () => {
  expect(await runOnEngines([[{ do: "crash", failure: interrupted }]])).toEqual({
    types: ["generation-start", "text-delta", "generation-end"],
    failure: undefined,
    loads: 2,
  });
});

test.each<{ reason: string; scripts: readonly (readonly FakeEngineStep[])[] }>([
  {
    reason: "it already has output",
    scripts: [
      [
        { do: "write", text: "Hel" },
        { do: "crash", failure: interrupted },
      ],
    ],
  },
  {
    reason: "the model was unloaded for another reason",
    scripts: [[{ do: "crash", failure: { kind: "engine-unloaded" } }]],
  },
  {
    reason: "it was repeated already",
    scripts: [[{ do: "crash", failure: interrupted }], [{ do: "crash", failure: interrupted }]],
  },
])("an interrupted generation is not repeated if $reason", async ({ scripts }) => {
  const { failure, loads } = await runOnEngines(scripts);
  expect([failure, loads]).toMatchObject([{ kind: "engine-unloaded" }, scripts.length]);
});
