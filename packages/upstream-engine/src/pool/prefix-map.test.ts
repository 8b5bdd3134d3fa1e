import type { EngineRequest, Message } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { PrefixMap, prefixesOf } from "./prefix-map.ts";

function prefixes(input: EngineRequest["input"], cachePartition = "key"): readonly string[] {
  return prefixesOf({ input, sampling: greedySampling, maxTokens: 1, cachePartition });
}

function talk(...texts: readonly string[]): EngineRequest["input"] {
  const messages = texts.map(
    (content, index): Message => ({ role: index % 2 === 0 ? "user" : "assistant", content }),
  );
  return { type: "conversation", conversation: { messages } };
}

test("the next turn of a conversation finds the member of the turn before, and another conversation does not", () => {
  const map = new PrefixMap();
  map.remember(prefixes(talk("Hello")), "first");
  map.remember(prefixes(talk("Hello", "Hi", "How are you?")), "second");
  expect(map.find(prefixes(talk("Hello", "Well?", "Yes")))).toBe("first");
  expect(map.find(prefixes(talk("Hello", "Hi", "How are you?", "Fine", "Good")))).toBe("second");
  expect(map.find(prefixes(talk("Good day", "Hi", "How are you?")))).toBeUndefined();
});

test("what one key said leads no other key to a member, and other tools make another beginning", () => {
  const map = new PrefixMap();
  map.remember(prefixes(talk("Hello")), "first");
  expect(map.find(prefixes(talk("Hello"), "another key"))).toBeUndefined();
  const tools = [{ name: "add" }];
  const messages: readonly Message[] = [{ role: "user", content: "Hello" }];
  expect(map.find(prefixes({ type: "conversation", conversation: { messages, tools } }))).toBeUndefined();
});

test("a raw prompt that grows finds the member that has read its beginning", () => {
  const map = new PrefixMap();
  const begun = "word ".repeat(1000);
  map.remember(prefixes({ type: "raw", prompt: begun }), "first");
  expect(map.find(prefixes({ type: "raw", prompt: `${begun}and on` }))).toBe("first");
  expect(map.find(prefixes({ type: "raw", prompt: "other ".repeat(1000) }))).toBeUndefined();
});

test("only so many beginnings are kept, those that were used last", () => {
  const map = new PrefixMap(2);
  for (const text of ["one", "two", "one", "three"]) map.remember(prefixes(talk(text)), text);
  expect(map.size).toBe(2);
  expect(["one", "two", "three"].map((text) => map.find(prefixes(talk(text))))).toEqual([
    "one",
    undefined,
    "three",
  ]);
});
