import type { EngineRequest, Message } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { PrefixMap, prefixesOf } from "./prefix-map.ts";

function prefixes(input: EngineRequest["input"], cachePartition = "key"): readonly string[] {
  return prefixesOf({ input, sampling: greedySampling, maxTokens: 1, cachePartition });
}

function conversationOf(...texts: readonly string[]): EngineRequest["input"] {
  const messages = texts.map(
    (content, index): Message => ({ role: index % 2 === 0 ? "user" : "assistant", content }),
  );
  return { type: "conversation", conversation: { messages } };
}

test("the next turn of a conversation finds the member of the previous turn, another conversation does not", () => {
  const map = new PrefixMap();
  map.record(prefixes(conversationOf("Hello")), "first");
  map.record(prefixes(conversationOf("Hello", "Hi", "How are you?")), "second");
  expect(map.find(prefixes(conversationOf("Hello", "Well?", "Yes")))).toBe("first");
  expect(map.find(prefixes(conversationOf("Hello", "Hi", "How are you?", "Fine", "Good")))).toBe("second");
  expect(map.find(prefixes(conversationOf("Good day", "Hi", "How are you?")))).toBeUndefined();
});

test("prefixes are separate for each key, and for each set of tools", () => {
  const map = new PrefixMap();
  map.record(prefixes(conversationOf("Hello")), "first");
  expect(map.find(prefixes(conversationOf("Hello"), "another key"))).toBeUndefined();
  const tools = [{ name: "add" }];
  const messages: readonly Message[] = [{ role: "user", content: "Hello" }];
  expect(map.find(prefixes({ type: "conversation", conversation: { messages, tools } }))).toBeUndefined();
});

test("a raw prompt that grows finds the member with its prefix", () => {
  const map = new PrefixMap();
  const prefix = "word ".repeat(1000);
  map.record(prefixes({ type: "raw", prompt: prefix }), "first");
  expect(map.find(prefixes({ type: "raw", prompt: `${prefix}and on` }))).toBe("first");
  expect(map.find(prefixes({ type: "raw", prompt: "other ".repeat(1000) }))).toBeUndefined();
});

test("only the most recently used prefixes are kept, up to a limit", () => {
  const map = new PrefixMap(2);
  for (const text of ["one", "two", "one", "three"]) map.record(prefixes(conversationOf(text)), text);
  expect(map.size).toBe(2);
  expect(["one", "two", "three"].map((text) => map.find(prefixes(conversationOf(text))))).toEqual([
    "one",
    undefined,
    "three",
  ]);
});
