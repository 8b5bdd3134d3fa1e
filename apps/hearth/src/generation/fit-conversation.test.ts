import type { Engine, EngineFailure, Message } from "@hearth-and-keep/engine";
import { createFakeEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { fitConversation } from "./fit-conversation.ts";

const never = new AbortController().signal;
const engine = createFakeEngine(() => []);
/** The fake engine counts words, including the role. */
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_none, index) => ({ role: "user", content: `turn ${index} ends here` }));

function contentsOf(messages: readonly Message[]): readonly (string | null)[] {
  return messages.map(({ content }) => content);
}

test("a conversation that fits is unchanged", async () => {
  const conversation = { messages: turns(4) };
  expect(await fitConversation({ engine, contextTokens: 21 }, conversation, never)).toEqual({
    conversation,
    droppedMessages: 0,
  });
});

test("only as many of the oldest messages as needed are dropped; the system message and the last message stay", async () => {
  const system: Message = { role: "system", content: "be brief" };
  const conversation = { messages: [system, ...turns(6)] };
  const fitted = await fitConversation({ engine, contextTokens: 19 }, conversation, never);
  expect(contentsOf(fitted.conversation.messages)).toEqual([
    "be brief",
    "turn 3 ends here",
    "turn 4 ends here",
    "turn 5 ends here",
  ]);
  expect(fitted.droppedMessages).toBe(3);
});

test("messages are dropped although the engine refuses to count a conversation that is far too long", async () => {
  const busy: Engine = {
    ...engine,
    count: async (conversation) => {
      const promptTokens = await engine.count(conversation);
      if (promptTokens > 30)
        throw new FailureError<EngineFailure>({ kind: "prompt-too-long", promptTokens, contextTokens: 19 });
      return promptTokens;
    },
  };
  const fitted = await fitConversation({ engine: busy, contextTokens: 19 }, { messages: turns(20) }, never);
  expect(contentsOf(fitted.conversation.messages)).toEqual([
    "turn 17 ends here",
    "turn 18 ends here",
    "turn 19 ends here",
  ]);
});

test("a last message that is too long is kept, for the engine to reject", async () => {
  const fitted = await fitConversation({ engine, contextTokens: 2 }, { messages: turns(5) }, never);
  expect(contentsOf(fitted.conversation.messages)).toEqual(["turn 4 ends here"]);
  expect(fitted.droppedMessages).toBe(4);
});

test.each<EngineFailure>([
  { kind: "not-supported", feature: "token counting" },
  { kind: "engines-unavailable", retryAfterSeconds: 5 },
])("nothing is dropped if the engine cannot count: %j", async (failure) => {
  const engineWithoutCount: Engine = { ...engine, count: () => Promise.reject(new FailureError(failure)) };
  const conversation = { messages: turns(9) };
  const fitted = await fitConversation({ engine: engineWithoutCount, contextTokens: 2 }, conversation, never);
  expect(fitted).toEqual({ conversation, droppedMessages: 0 });
});

test("a conversation that the template rejects fails", async () => {
  const failure: EngineFailure = { kind: "template-failed", reason: "roles" };
  const rejectingEngine: Engine = { ...engine, count: () => Promise.reject(new FailureError(failure)) };
  await expect(
    fitConversation({ engine: rejectingEngine, contextTokens: 2 }, { messages: turns(2) }, never),
  ).rejects.toMatchObject({ failure });
});

test("nothing is dropped for a context that is only estimated", async () => {
  const estimating = createFakeEngine(() => [], { isContextEstimated: true });
  const conversation = { messages: turns(9) };
  const fitted = await fitConversation({ engine: estimating, contextTokens: 2 }, conversation, never);
  expect(fitted).toEqual({ conversation, droppedMessages: 0 });
});

test("counting stops when the client disconnects", async () => {
  const client = new AbortController();
  const signals: (AbortSignal | undefined)[] = [];
  const slow: Engine = {
    ...engine,
    count: async (_conversation, signal) => {
      signals.push(signal);
      client.abort(new Error("gone"));
      return 100;
    },
  };
  const fitting = fitConversation({ engine: slow, contextTokens: 2 }, { messages: turns(9) }, client.signal);
  await expect(fitting).rejects.toThrow("gone");
  expect(signals).toEqual([client.signal]);
});
