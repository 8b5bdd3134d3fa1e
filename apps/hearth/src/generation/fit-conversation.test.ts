import type { Engine, EngineFailure, Message } from "@hearth-and-keep/engine";
import { createScriptedEngine } from "@hearth-and-keep/engine/testing";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { fitConversation } from "./fit-conversation.ts";

const never = new AbortController().signal;
const engine = createScriptedEngine(() => []);
/** The scripted engine counts words, the role among them. */
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_none, index) => ({ role: "user", content: `turn ${index} ends here` }));

function contentsOf(messages: readonly Message[]): readonly (string | null)[] {
  return messages.map(({ content }) => content);
}

test("a conversation that fits is left as it is", async () => {
  const conversation = { messages: turns(4) };
  expect(await fitConversation({ engine, contextTokens: 21 }, conversation, never)).toEqual({
    conversation,
    droppedMessages: 0,
  });
});

test("the oldest messages leave, no more than needed, and the system text and the last message stay", async () => {
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

test("what cannot be made to fit keeps its system text and last message, for the engine to refuse", async () => {
  const fitted = await fitConversation({ engine, contextTokens: 2 }, { messages: turns(5) }, never);
  expect(contentsOf(fitted.conversation.messages)).toEqual(["turn 4 ends here"]);
  expect(fitted.droppedMessages).toBe(4);
});

test.each<EngineFailure>([
  { kind: "not-supported", feature: "counting tokens" },
  { kind: "engines-unavailable", retryAfterSeconds: 5 },
])("nothing is left out when nobody can count: %j", async (failure) => {
  const uncounting: Engine = { ...engine, count: () => Promise.reject(new FailureError(failure)) };
  const conversation = { messages: turns(9) };
  const fitted = await fitConversation({ engine: uncounting, contextTokens: 2 }, conversation, never);
  expect(fitted).toEqual({ conversation, droppedMessages: 0 });
});

test("a conversation that the template does not take is refused and not passed on", async () => {
  const failure: EngineFailure = { kind: "template-failed", reason: "roles" };
  const refusing: Engine = { ...engine, count: () => Promise.reject(new FailureError(failure)) };
  await expect(
    fitConversation({ engine: refusing, contextTokens: 2 }, { messages: turns(2) }, never),
  ).rejects.toMatchObject({ failure });
});

test("nothing is left out for a context that is only guessed", async () => {
  const guessing = createScriptedEngine(() => [], { isContextGuessed: true });
  const conversation = { messages: turns(9) };
  const fitted = await fitConversation({ engine: guessing, contextTokens: 2 }, conversation, never);
  expect(fitted).toEqual({ conversation, droppedMessages: 0 });
});

test("who leaves while messages are counted is not waited for any longer", async () => {
  const hangUp = new AbortController();
  const signals: (AbortSignal | undefined)[] = [];
  const slow: Engine = {
    ...engine,
    count: async (_conversation, signal) => {
      signals.push(signal);
      hangUp.abort(new Error("gone"));
      return 100;
    },
  };
  const fitting = fitConversation({ engine: slow, contextTokens: 2 }, { messages: turns(9) }, hangUp.signal);
  await expect(fitting).rejects.toThrow("gone");
  expect(signals).toEqual([hangUp.signal]);
});
