import { createScriptedEngine, type ScriptedEngine } from "@hearth-and-keep/engine/testing";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCatalog } from "../models/catalog.ts";
import { createFromFile } from "../models/create-from-file.ts";
import type { ModelDescription } from "../models/metadata/describe-model.ts";
import { openModelStore } from "../models/store/model-store.ts";
import { createScheduler, type Scheduler } from "../scheduling/scheduler.ts";
import { type AnswerRequest, answerRequest } from "./answer-request.ts";

const never = new AbortController().signal;
let model: ModelDescription;
let engine: ScriptedEngine;
let scheduler: Scheduler;

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
  engine = createScriptedEngine(() => [
    { do: "say", text: "Hello" },
    { do: "end", reason: "stop" },
  ]);
  scheduler = createScheduler({ driver: { load: async () => engine } });
});
afterAll(() => scheduler.close(0));

function request(changes: Partial<AnswerRequest> = {}): AnswerRequest {
  return {
    model,
    input: { type: "conversation", conversation: { messages: [{ role: "user", content: "Hi" }] } },
    sampling: { seed: 5 },
    toolChoice: { type: "auto" },
    cachePartition: "one",
    overflow: "refuse",
    ...changes,
  };
}

test("an answer begins with what was found out before, and gives its place back at the end", async () => {
  const events = await Array.fromAsync(answerRequest(scheduler, request(), never));
  expect(events[0]).toMatchObject({ type: "answer-start", droppedMessages: 0, seed: 5 });
  expect(events.map(({ type }) => type)).toEqual(["answer-start", "text-delta", "generation-end"]);
  expect(scheduler.queueLengths()).toEqual([expect.objectContaining({ leases: 0, waiting: 0 })]);
});

test("a caller that leaves in the middle gives its place back too", async () => {
  for await (const event of answerRequest(scheduler, request(), never))
    if (event.type === "text-delta") break;
  expect(scheduler.queueLengths()).toEqual([expect.objectContaining({ leases: 0 })]);
});

test("the model's parameters, system text and examples count where the request says nothing", async () => {
  await Array.fromAsync(answerRequest(scheduler, request(), never));
  const asked = engine.requests.at(-1);
  expect(asked?.sampling).toMatchObject({ temperature: 0.3, topP: 0.9, seed: 5 });
  expect(asked?.input).toMatchObject({
    conversation: {
      messages: [
        { role: "system", content: "You are short" },
        { role: "user", content: "example" },
        { role: "user", content: "Hi" },
      ],
    },
  });
});

test("a request's own system text and parameters win over the model's", async () => {
  const messages = [
    { role: "system", content: "Be long" },
    { role: "user", content: "Hi" },
  ] as const;
  const own = request({
    input: { type: "conversation", conversation: { messages } },
    sampling: { temperature: 1 },
  });
  await Array.fromAsync(answerRequest(scheduler, own, never));
  const asked = engine.requests.at(-1);
  expect(asked?.sampling).toMatchObject({ temperature: 1 });
  expect(asked?.input).toMatchObject({
    conversation: { messages: [{ content: "Be long" }, { content: "example" }, { content: "Hi" }] },
  });
});
