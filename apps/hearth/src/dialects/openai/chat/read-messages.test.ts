import { expect, test } from "vitest";
import { readMessages } from "./read-messages.ts";

test("a function_call of an old client is lost: it is a call, and its result has its name", () => {
  const messages = readMessages(
    [
      { role: "assistant", content: null, function_call: { name: "look", arguments: '{"at":1}' } },
      { role: "function", name: "look", content: "a cat" },
    ],
    { images: new Map(), audio: new Map() },
  );
  expect(messages).toEqual([
    { role: "assistant", content: null, toolCalls: [{ id: "call_0", name: "look", arguments: { at: 1 } }] },
    { role: "tool", content: "a cat", toolName: "look" },
  ]);
});
