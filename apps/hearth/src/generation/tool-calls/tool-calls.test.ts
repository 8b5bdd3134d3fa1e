import type { Tool } from "@hearth-and-keep/engine";
import { describe, expect, test } from "vitest";
import type { OutputPlan } from "../split-output.ts";
import { byteByByte, collectOutput, plainPlan, splitAtEveryByte } from "../test/collect-output.ts";
import { detectToolCallFormat, genericFormat, toolCallFormats } from "./formats.ts";

const tools: readonly Tool[] = [
  { name: "find", parameters: { properties: { text: { type: "string" }, count: { type: "integer" } } } },
  { name: "stop", parameters: { properties: {} } },
];
const find = { name: "find", arguments: { text: "é {x}", count: 2 } };

describe("call formats that no template renders are parsed, split at every byte", () => {
  const json = '{"text": "é {x}", "count": 2}';
  test.for([
    ["granite-3-phi-4", `<|tool_call|>[{"name": "find", "arguments": ${json}}]`],
    ["granite-3-phi-4", `<|tool_call|>[{"name": "find", "arguments": ${json}}]<|/tool_call|>`],
    ["command-r-plus", `Action: \`\`\`json\n[{"tool_name": "find", "parameters": ${json}}]\n\`\`\``],
    ["lfm2", `<|tool_call_start|>[{"name": "find", "arguments": ${json}}]<|tool_call_end|>`],
    ["lfm2", `<|tool_call_start|>[find(text="\\u00e9 {x}", count=2)]<|tool_call_end|>`],
    ["llama-3", `<|python_tag|>find.call(text="é {x}", count=2)`],
    ["llama-3", `{"type": "function", "name": "find", "parameters": ${json}}`],
    ["mistral", `[TOOL_CALLS]find${json}`],
    ["hermes", `<tool_call>{"arguments": ${json}, "name": "find"}</tool_call>`],
    ["hermes", `<tool_call>{"name": "find", "arguments": ${JSON.stringify(json)}}`],
    ["generic", `{"tool_calls": [{"name": "find", "arguments": ${json}}]}`],
    ["generic", `[{"type": "function", "function": {"name": "find", "arguments": ${json}}}]`],
    ["harmony", `<|channel|>commentary to=functions.find <|constrain|>json<|message|>${json}`],
  ])("%s: %s", async ([format = "", output = ""]) => {
    for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
      const { calls, text, failures } = await collectOutput(chunks, planFor(format));
      expect(calls.map(({ name, arguments: given }) => ({ name, arguments: given }))).toEqual([find]);
      expect(text).toBe("");
      expect(failures).toEqual([]);
    }
  });
});

test("arguments are passed on verbatim", async () => {
  const written = '{ "text" : "a\\u00e9",\n"count":2.0 }';
  const { calls } = await collectOutput(
    byteByByte(`<tool_call>{"name":"find","arguments":${written}}</tool_call>`),
    planFor("hermes"),
  );
  expect(calls[0]?.argumentsText).toBe(written);
});

test("arguments are streamed, including string arguments in tagged formats", async () => {
  for (const [format, output] of [
    ["hermes", '<tool_call>{"name": "find", "arguments": {"text": "long'],
    ["qwen3-coder", "<tool_call><function=find><parameter=text>\nlong"],
  ] as const) {
    const { calls, failures } = await collectOutput([output], planFor(format), "length");
    expect(calls[0]?.argumentsText).toBe('{"text": "long');
    expect(calls[0]?.arguments).toBe(undefined);
    expect(failures).toMatchObject([{ index: 0, reason: "unfinished" }]);
  }
});

test("a call without arguments has an empty object, in JSON and in tagged formats", async () => {
  for (const [format, output] of [
    ["hermes", '<tool_call>{"name": "stop"}</tool_call>'],
    ["qwen3-coder", "<tool_call><function=stop></function></tool_call>"],
    ["lfm2", "<|tool_call_start|>[stop()]<|tool_call_end|>"],
  ] as const) {
    const { calls } = await collectOutput([output], planFor(format));
    expect(calls).toMatchObject([{ name: "stop", argumentsText: "{}", arguments: {} }]);
  }
});

test("a truncated call fails without repair, a complete one ends", async () => {
  const output = '<tool_call>{"name": "find", "arguments": {"text": "é {x}", "count": 2}}';
  const truncated = await collectOutput([output.slice(0, -3)], planFor("hermes"), "length");
  expect(truncated.failures).toMatchObject([{ index: 0, reason: "unfinished", text: output.slice(11, -3) }]);
  expect(truncated.end?.reason).toBe("length");
  const complete = await collectOutput([output], planFor("hermes"));
  expect(complete.failures).toEqual([]);
  expect(complete.end?.reason).toBe("tool-calls");
});

test("invalid text after an opening tag fails and stays hidden, even between two calls", async () => {
  const call = '<tool_call>{"name": "stop"}</tool_call>';
  const output = `a${call}<tool_call>nonsense}</tool_call>${call} b`;
  for (const chunks of splitAtEveryByte(output)) {
    const { calls, failures, text } = await collectOutput(chunks, planFor("hermes"));
    expect(calls).toHaveLength(2);
    expect(failures).toEqual([{ type: "tool-call-fail", index: 1, reason: "malformed", text: "nonsense}" }]);
    expect(text).toBe("a b");
  }
});

test("arguments that are not a JSON object fail as malformed, before the text after them", async () => {
  const { events, end } = await collectOutput(
    ['<tool_call>{"name": "find", "arguments": {"text": nothing}}</tool_call>Sorry'],
    planFor("hermes"),
  );
  const relevant = events.filter(({ type }) => type === "tool-call-fail" || type === "text-delta");
  expect(relevant).toMatchObject([{ reason: "malformed" }, { text: "Sorry" }]);
  expect(end?.reason).toBe("stop");
});

describe("bare JSON is a call only at the start and only for a known tool", () => {
  test.for([
    ["a known tool", '{"name": "stop", "parameters": {}}', 1],
    ["an unknown tool", '{"name": "other", "parameters": {}}', 0],
    ["another object", '{"text": "stop", "name": "stop"}', 0],
    ["a list of other things", "[1, 2]", 0],
    ["an empty list", "[] is empty", 0],
    ["an empty object", "{}", 0],
    ["after text", 'Here: {"name": "stop", "parameters": {}}', 0],
  ] as const)("%s", async ([, output, expected]) => {
    for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
      const { calls, text, failures } = await collectOutput(chunks, planFor("llama-3"));
      expect(calls).toHaveLength(expected);
      expect(text).toBe(expected === 1 ? "" : output);
      expect(failures).toEqual([]);
    }
  });
});

test("calls are parsed only if the request has tools", async () => {
  const output = '<tool_call>{"name": "stop"}</tool_call>';
  expect((await collectOutput([output], { ...planFor("hermes"), tools: [] })).text).toBe(output);
  expect((await collectOutput([output], planFor("hermes"))).text).toBe("");
});

test("ids from the model are kept, missing ones are generated and unique", async () => {
  const nemo = '[TOOL_CALLS][{"name": "stop", "arguments": {}, "id": "a1b2c3d4e"}]';
  const kimi =
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.stop:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
  expect((await collectOutput([nemo], planFor("mistral"))).calls[0]?.id).toBe("a1b2c3d4e");
  expect((await collectOutput([kimi], planFor("kimi-k2"))).calls[0]).toMatchObject({
    id: "functions.stop:0",
    name: "stop",
  });
  const hermes = await collectOutput(['<tool_call>{"name": "stop"}{"name": "stop"}'], planFor("hermes"));
  const ids = hermes.calls.map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
});

test("an unknown template uses the generic format", () => {
  expect(detectToolCallFormat("{{ messages }}").name).toBe("generic");
  expect(detectToolCallFormat(null).name).toBe("generic");
  for (const format of toolCallFormats) {
    const template = (format.templateMarkers[0] ?? []).join(" ");
    expect(detectToolCallFormat(template).name).toBe(format.name);
  }
});

function planFor(name: string): OutputPlan {
  if (name === "harmony") return { ...plainPlan, tools, format: { type: "harmony" } };
  const toolCalls = [...toolCallFormats, genericFormat].find((format) => format.name === name);
  if (toolCalls === undefined) throw new Error(`Cannot find the format "${name}"`);
  return { ...plainPlan, tools, format: { type: "tags", reasoning: undefined, toolCalls } };
}
