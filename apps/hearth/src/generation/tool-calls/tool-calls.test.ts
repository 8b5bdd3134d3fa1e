import type { Tool } from "@hearth-and-keep/engine";
import { describe, expect, test } from "vitest";
import { detectOutputFormat, type OutputPlan } from "../split-output.ts";
import { byteByByte, collectOutput, plainPlan, splitAtEveryByte } from "../test/collect-output.ts";
import { detectToolCallFormat, genericFormat, toolCallFormats } from "./formats.ts";

const tools: readonly Tool[] = [
  { name: "find", parameters: { properties: { text: { type: "string" }, count: { type: "integer" } } } },
  { name: "stop", parameters: { properties: {} } },
];
const find = { name: "find", arguments: { text: "é {x}", count: 2 } };

/** Every tag has a prefix. */
function minimax3(tags: string): string {
  return tags.replaceAll("~", "]<]minimax[>[").replace(/^/u, "]<]minimax[>[");
}

function atem(text: string): string {
  return `<atem:function_calls>\n<atem:invoke name="find">\n<atem:parameter name="text">${text}</atem:parameter>\n<atem:parameter name="count">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls>`;
}

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
    [
      "kimi-k3",
      `<|open|>call tool="find"<|sep|><|open|>json type="object"<|sep|>${json}<|close|>json<|sep|>`,
    ],
    [
      "glm-4.5",
      "<tool_call>find<arg_key>text</arg_key><arg_value>é {x}</arg_value><arg_key>count</arg_key><arg_value>2</arg_value></tool_call>",
    ],
    [
      "minicpm-5",
      `<function name="find"><param name="text"><![CDATA[é {x}]]></param><param name="count">2</param></function>`,
    ],
    [
      "minimax-m3",
      minimax3(`<invoke name="find">~<text>é {x}~</text>~<count>2~</count>~</invoke>~</tool_call>`),
    ],
    ["recipients", ` to=find<|message|>${atem("é {x}")}<|eot|>`],
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

test("text after an opening tag that is not a call is visible without its tags, even between two calls", async () => {
  const call = '<tool_call>{"name": "stop"}</tool_call>';
  const output = `a${call}<tool_call>nonsense}</tool_call>${call} b`;
  for (const chunks of splitAtEveryByte(output)) {
    const { calls, failures, text } = await collectOutput(chunks, planFor("hermes"));
    expect(calls).toHaveLength(2);
    expect(failures).toEqual([]);
    expect(text).toBe("anonsense} b");
  }
});

test("arguments that are not JSON are repaired while they arrive, split at every byte", async () => {
  for (const [written, expected] of repairs) {
    const output = `<tool_call>{"name": "find", "arguments": ${written}}</tool_call>Sorry`;
    for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
      const { calls, text, end } = await collectOutput(chunks, planFor("hermes"));
      expect(calls.map((call) => call.argumentsText)).toEqual([expected]);
      expect(JSON.parse(expected)).toEqual(calls[0]?.arguments);
      expect(text).toBe("Sorry");
      expect(end?.reason).toBe("tool-calls");
    }
  }
});

const repairs = [
  ['{"text": nothing}', '{"text": "nothing"}'],
  ['{"text": "a\nb\tc"}', String.raw`{"text": "a\nb\tc"}`],
  ['{"text": "a", }', '{"text": "a"}'],
  ['{"text": "a" "count": "3"}', '{"text": "a", "count": 3}'],
  ["{'text': 'it\\'s', count: 3}", `{"text": "it's", "count": 3}`],
  ['{"text": 12, "count": 2.0}', '{"text": "12", "count": 2.0}'],
  ['{"text": "a "b" c"}', String.raw`{"text": "a \"b\" c"}`],
  [String.raw`{"text": "C:\dir"}`, String.raw`{"text": "C:\\dir"}`],
  ['{"text": "a", "list": [1, 2}', '{"text": "a", "list": [1, 2]}'],
  ['{"text": , "count": None}', '{"text":null, "count": null}'],
] as const;

test("a string that mentions the closing tag is kept, and one that never ends is cut before it", async () => {
  const complete = '<tool_call>{"name": "find", "arguments": {"text": "a </tool_call> b"}}</tool_call>';
  const endless = '<tool_call>{"name": "find", "arguments": {"text": "a}}\n</tool_call>\n';
  for (const chunks of [...splitAtEveryByte(complete), byteByByte(complete)]) {
    const { calls } = await collectOutput(chunks, planFor("hermes"));
    expect(calls[0]?.arguments).toEqual({ text: "a </tool_call> b" });
  }
  for (const chunks of [...splitAtEveryByte(endless), byteByByte(endless)]) {
    const { calls, text } = await collectOutput(chunks, planFor("hermes"));
    expect(calls[0]?.arguments).toEqual({ text: "a" });
    expect(text).toBe("");
  }
});

test("a call in a code block is made, and another code block is text", async () => {
  const call = '```json\n{"name": "stop", "arguments": {}}\n```';
  for (const [format, output] of [
    ["generic", call],
    ["hermes", `<tool_call>\n${call}\n</tool_call>`],
  ] as const) {
    const { calls, text } = await collectOutput(byteByByte(output), planFor(format));
    expect(calls).toHaveLength(1);
    expect(text).toBe("");
  }
  const other = '```json\n{"text": "stop"}\n```';
  expect((await collectOutput(byteByByte(other), planFor("generic"))).text).toBe(other);
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

test("nested tags become objects and lists of the types in the schema, and are closed at the end", async () => {
  const items = { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } };
  const options = {
    type: "object",
    properties: { items, note: { type: "string" }, none: { type: "array" } },
  };
  const tool = { name: "set", parameters: { type: "object", properties: { options } } };
  const complete = minimax3(
    '<invoke name="set">~<options>~<items>~<item>~<n>1~</n>~</item>~<item>~<n>2~</n>~</item>~</items>~<none>~</none>~<note>3~</note>~</options>~</invoke>',
  );
  const expected = { options: { items: [{ n: 1 }, { n: 2 }], none: [], note: "3" } };
  for (const chunks of [...splitAtEveryByte(complete), byteByByte(complete)]) {
    const { calls } = await collectOutput(chunks, { ...planFor("minimax-m3"), tools: [tool] });
    expect(calls[0]?.arguments).toEqual(expected);
  }
  const cut = [complete.slice(0, complete.indexOf("2]"))];
  const { calls } = await collectOutput(cut, { ...planFor("minimax-m3"), tools: [tool] });
  expect(calls[0]?.arguments).toMatchObject({ options: { items: [{ n: 1 }, expect.anything()] } });
  const truncated = await collectOutput(cut, { ...planFor("minimax-m3"), tools: [tool] }, "length");
  expect(truncated.calls[0]?.arguments).toBe(undefined);
});

test("messages to oneself are thinking, and a call quoted to the user is text", async () => {
  const output = ` to=self<|message|>Maybe ${atem("x")}<|eom|><|start|>assistant to=user<|message|>Like ${atem("y")}<|eom|><|start|>assistant to=find<|message|>${atem("z")}<|eot|>`;
  for (const chunks of [...splitAtEveryByte(output), byteByByte(output)]) {
    const { calls, text, reasoning } = await collectOutput(chunks, planFor("recipients"));
    expect(reasoning).toBe(`Maybe ${atem("x")}`);
    expect(text).toBe(`Like ${atem("y")}`);
    expect(calls.map((call) => call.arguments)).toEqual([{ text: "z", count: 2 }]);
  }
});

test("a template without markers of its own is recognized by its text", () => {
  const lfm = 'keep_past_thinking | default(false) … "List of tools: ["';
  expect(detectToolCallFormat(lfm).name).toBe("lfm2");
  const hunyuan = "'<think{}>'.format(':opensource') '<tool_sep{}>'";
  const format = detectOutputFormat(hunyuan);
  expect(format).toMatchObject({ toolCalls: { name: "hunyuan-3" }, reasoning: { name: "hunyuan-3-think" } });
});

function planFor(name: string): OutputPlan {
  if (name === "recipients") return { ...plainPlan, tools, format: { type: "recipients" } };
  if (name === "harmony") return { ...plainPlan, tools, format: { type: "harmony" } };
  const toolCalls = [...toolCallFormats, genericFormat].find((format) => format.name === name);
  if (toolCalls === undefined) throw new Error(`Cannot find the format "${name}"`);
  return { ...plainPlan, tools, format: { type: "tags", reasoning: undefined, toolCalls } };
}
