import type { Tool } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { ignoredKeywordsOf } from "./ignored-keywords.ts";

const set = { type: "array", uniqueItems: true };
const tool = { name: "save", parameters: { type: "object", properties: { tags: set } } };
const auto = { type: "auto" } as const;
const inputWith = (tools: readonly Tool[]) =>
  ({ type: "conversation", conversation: { messages: [], tools } }) as const;

test("keywords that are not enforced are named for a lenient schema, and a strict one has none", () => {
  const constraint = { type: "json-schema", schema: set } as const;
  expect(ignoredKeywordsOf({ constraint, input: inputWith([]), toolChoice: auto })).toEqual(["uniqueItems"]);
  const strict = { ...constraint, isStrict: true };
  expect(ignoredKeywordsOf({ constraint: strict, input: inputWith([]), toolChoice: auto })).toEqual([]);
});

test("the schemas of tools count only if a call is required, and only those that can be called", () => {
  const tools = [tool, { name: "stop" }];
  const described = (toolChoice: Parameters<typeof ignoredKeywordsOf>[0]["toolChoice"]) =>
    ignoredKeywordsOf({ input: inputWith(tools), toolChoice });
  expect(described(auto)).toEqual([]);
  expect(described({ type: "required" })).toEqual(["uniqueItems"]);
  expect(described({ type: "required", toolName: "stop" })).toEqual([]);
});
