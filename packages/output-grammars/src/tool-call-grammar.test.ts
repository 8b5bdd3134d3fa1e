import { expect, test } from "vitest";
import { checkGrammar } from "./check-grammar.ts";
import { acceptsText } from "./test/accept-text.ts";
import { grammarForToolCalls, type ToolCallShape } from "./tool-call-grammar.ts";

const tools = [
  {
    name: "weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
      required: ["city"],
    },
  },
  { name: "time" },
];
const tagged: ToolCallShape = {
  before: "",
  after: "",
  callBefore: "<tool_call>\n",
  callAfter: "\n</tool_call>",
  separator: "\n",
  maxCalls: 2,
  layout: { type: "json", nameKey: "name", argumentsKey: "arguments" },
};
const weather = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bern"}}\n</tool_call>';
const time = '<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call>';

test("calls of the given tools with valid arguments are accepted, up to the allowed number", () => {
  const grammar = checkGrammar(grammarForToolCalls(tools, tagged));
  expect([weather, time, `${weather}\n${time}`].filter((text) => !acceptsText(grammar, text))).toEqual([]);
  const rejected = [
    "",
    "Hello",
    `${weather}\n${time}\n${time}`,
    weather.replace("weather", "news"),
    weather.replace('"Bern"', "1"),
    weather.replace('"Bern"', '"Bern", "days": 8'),
    time.replace("{}}", '{"zone": 1}}'),
  ];
  expect(rejected.filter((text) => acceptsText(grammar, text))).toEqual([]);
});

test("a single call is enforced if parallel calls are disabled", () => {
  const grammar = checkGrammar(grammarForToolCalls(tools, { ...tagged, maxCalls: 1 }));
  expect(acceptsText(grammar, time)).toBe(true);
  expect(acceptsText(grammar, `${time}\n${time}`)).toBe(false);
});

test("calls can be formatted as a list, or as a name followed by arguments", () => {
  const listed = {
    ...tagged,
    before: "[TOOL_CALLS][",
    after: "]",
    callBefore: "",
    callAfter: "",
    separator: ", ",
  };
  const list = checkGrammar(grammarForToolCalls(tools, listed));
  const call = '{"name": "time", "arguments": {}}';
  expect(acceptsText(list, `[TOOL_CALLS][${call}, ${call}]`)).toBe(true);
  expect(acceptsText(list, `[TOOL_CALLS][${call} ${call}]`)).toBe(false);
  const named = {
    ...tagged,
    callBefore: "<function=",
    callAfter: "</function>",
    layout: { type: "name-then-arguments", between: ">" } as const,
  }; // the tag itself, not any text
  const names = checkGrammar(grammarForToolCalls(tools, named));
  expect(acceptsText(names, '<function=weather>{"city": "Bern", "days": 7}</function>')).toBe(true);
  expect(acceptsText(names, "<function=weather>{}</function>")).toBe(false);
});

test("an unsupported schema of a strict tool is reported with its tool, and an empty list of tools is rejected", () => {
  const odd = {
    name: "odd",
    parameters: { type: "object", properties: { n: { type: "integer", multipleOf: 0.3 } } },
  };
  const failure = { kind: "schema-unsupported", keyword: "multipleOf", location: "odd#/properties/n" };
  const strict = { ...odd, isStrict: true };
  expect(() => grammarForToolCalls([strict], tagged)).toThrow(expect.objectContaining({ failure }));
  expect(grammarForToolCalls([odd], tagged)).toContain("root ::=");
  expect(() => grammarForToolCalls([], tagged)).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ keyword: "tools" }) }),
  );
});
