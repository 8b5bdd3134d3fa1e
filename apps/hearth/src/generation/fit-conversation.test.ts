import type { Message } from "@hearth-and-keep/llama-engine";
import { createScriptedEngine } from "@hearth-and-keep/llama-engine/testing";
import { expect, test } from "vitest";
import { fitConversation } from "./fit-conversation.ts";

const engine = createScriptedEngine(() => []);
/** The scripted engine counts words, the role among them. */
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_none, index) => ({ role: "user", content: `turn ${index} ends here` }));

function contentsOf(messages: readonly Message[]): readonly (string | null)[] {
  return messages.map(({ content }) => content);
}

test("a conversation that fits is left as it is", async () => {
  const conversation = { messages: turns(4) };
  expect(await fitConversation({ engine, contextTokens: 21 }, conversation)).toEqual({
    conversation,
    droppedMessages: 0,
  });
});

test("the oldest messages leave, no more than needed, and the system text and the last message stay", async () => {
  const system: Message = { role: "system", content: "be brief" };
  const conversation = { messages: [system, ...turns(6)] };
  const fitted = await fitConversation({ engine, contextTokens: 19 }, conversation);
  expect(contentsOf(fitted.conversation.messages)).toEqual([
    "be brief",
    "turn 3 ends here",
    "turn 4 ends here",
    "turn 5 ends here",
  ]);
  expect(fitted.droppedMessages).toBe(3);
});

test("what cannot be made to fit keeps its system text and last message, for the engine to refuse", async () => {
  const fitted = await fitConversation({ engine, contextTokens: 2 }, { messages: turns(5) });
  expect(contentsOf(fitted.conversation.messages)).toEqual(["turn 4 ends here"]);
  expect(fitted.droppedMessages).toBe(4);
});
