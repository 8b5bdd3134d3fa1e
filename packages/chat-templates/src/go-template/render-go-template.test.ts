import type { Conversation } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { defaultTemplateLimits } from "../budget.ts";
import { readModelTemplate } from "../model-template.ts";
import { readGoTemplate, renderGoInsert, renderGoTemplate } from "./render-go-template.ts";

const now = new Date(2026, 2, 1, 12);
const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const most = defaultTemplateLimits;

function render(template: string, conversation = greeting): string {
  return renderGoTemplate(readGoTemplate(template), conversation, { now });
}

function reasonOf(work: () => unknown): string {
  try {
    work();
  } catch (problem) {
    if (problem instanceof FailureError && problem.failure.kind === "template-failed")
      return problem.failure.reason;
    throw problem;
  }
  return "none";
}

const weather: Conversation = {
  messages: [
    { role: "user", content: "Rain?" },
    {
      role: "assistant",
      content: null,
      reasoning: "ask",
      toolCalls: [
        { id: "c1", name: "weather", arguments: { n: 1500000, city: "<Paris>", deep: { b: [1], a: null } } },
      ],
    },
    { role: "tool", content: "no", toolName: "weather", toolCallId: "c1" },
  ],
  tools: [
    {
      name: "weather",
      parameters: {
        type: "object",
        additionalProperties: false,
        required: ["city"],
        properties: {
          when: { anyOf: [{ type: "string" }, { type: "null" }] },
          city: { type: "string", description: "where", minLength: 1 },
          days: { type: ["integer", "array"] },
        },
      },
    },
  ],
};

const shownTools =
  '[{"type":"function","function":{"name":"weather","description":"","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string","description":"where","minLength":1},"days":{"type":["integer","array"]},"when":{"anyOf":[{"type":"string"},{"type":"null"}]}},"additionalProperties":false}}}]';

test.for<[what: string, template: string, prompt: string]>([
  ["tools print as JSON, whole schemas in them", "{{ .Tools }}{{ range .Messages }}{{ end }}", shownTools],
  [
    "one tool prints as JSON too, as it is printed by the templates of Llama 3",
    "{{ range .Tools }}{{ . }}{{ end }}{{ range .Messages }}{{ end }}",
    shownTools.slice(1, -1),
  ],
  [
    "arguments print as JSON with sorted keys and can be gone through",
    "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments }}{{ range $k, $v := .Function.Arguments }} {{ $k }}={{ $v }}{{ end }}{{ end }}{{ end }}",
    '{"city":"\\u003cParis\\u003e","deep":{"a":null,"b":[1]},"n":1500000} city=<Paris> deep=map[a:<nil> b:[1]] n=1.5e+06',
  ],
  [
    "types of properties are told as TypeScript",
    "{{ range .Tools }}{{ range $n, $p := .Function.Parameters.Properties }}{{ $n }}?: {{ toTypeScriptType $p }}; {{ end }}{{ end }}{{ range .Messages }}{{ end }}",
    "city?: string; days?: number | any[]; when?: string | null; ",
  ],
  [
    "a result names its tool, an earlier turn its thoughts",
    "{{ range .Messages }}{{ .Role }}/{{ .ToolName }}/{{ .ToolCallID }}/{{ .Thinking }};{{ end }}",
    "user///;assistant///ask;tool/weather/c1/;",
  ],
  [
    "today and yesterday are dates",
    '{{ currentDate }} {{ yesterdayDate "2006" }}{{ range .Messages }}{{ end }}',
    "2026-03-01 2026-02-28",
  ],
])("%s", ([, template, prompt]) => {
  expect(render(template, weather)).toBe(prompt);
});

test("a template of one exchange is rendered turn by turn, and nothing stands behind the open answer", () => {
  const template = "{{ if .System }}S:{{ .System }}\n{{ end }}U:{{ .Prompt }}\nA:{{ .Response }}</s>\n";
  const conversation: Conversation = {
    messages: [
      { role: "system", content: "brief" },
      { role: "user", content: "1?" },
      { role: "assistant", content: "one" },
      { role: "user", content: "2?" },
    ],
  };
  expect(render(template, conversation)).toBe("S:brief\nU:1?\nA:one</s>\nU:2?\nA:");
  expect(render("[{{ .Prompt }}]", conversation)).toBe("[1?]one[2?]");
});

test("a model that can think is asked to, unless the caller says otherwise; others are not asked", () => {
  const template =
    "{{ if .IsThinkSet }}{{ .Think }}:{{ .ThinkLevel }}{{ end }}{{ range .Messages }}{{ end }}";
  expect(render(template)).toBe("true:medium");
  expect(render(template, { ...greeting, thinking: false })).toBe("false:");
  expect(
    render(template, { ...greeting, thinking: true, templateVariables: { reasoning_effort: "high" } }),
  ).toBe("true:high");
  expect(render("{{ .IsThinkSet }}{{ range .Messages }}{{ end }}")).toBe("false");
});

test("a template with a suffix has words for a text on both sides, one without has none", () => {
  const coder = "{{ if .Suffix }}<PRE>{{ .Prompt }}<SUF>{{ .Suffix }}<MID>{{ else }}{{ .Prompt }}{{ end }}";
  const texts = { prefix: "a(", suffix: ")" };
  expect(renderGoInsert(readGoTemplate(coder), texts, { now })).toBe("<PRE>a(<SUF>)<MID>");
  expect(render(coder)).toBe("hi");
  expect(readModelTemplate({ usual: null }, coder).renderInsert?.(texts, now)).toBe("<PRE>a(<SUF>)<MID>");
  expect(readModelTemplate({ usual: "{{ messages[0].content }}" }, coder).renderInsert).toBeDefined();
  expect(readModelTemplate({ usual: null }, "{{ .Prompt }}").renderInsert).toBeUndefined();
});

test("the model file's Jinja counts before the Go template, and a broken Go template beside it hurts nobody", () => {
  const specialTokens = { beginning: "", end: "", addsBeginning: false, addsEnd: false };
  const parts = { specialTokens, now };
  expect(readModelTemplate({ usual: "jinja" }, "go {{ .Prompt }}").render(greeting, parts)).toBe("jinja");
  expect(readModelTemplate({ usual: "jinja" }, "{{ if }}").render(greeting, parts)).toBe("jinja");
  expect(readModelTemplate({ usual: null }, "go {{ .Prompt }}").render(greeting, parts)).toBe("go hi");
});

test.for<[what: string, template: string, reason: string]>([
  ["an unknown function", "{{ shout .Prompt }}", 'it calls "shout", which is no function known here'],
  ["an unknown field of a conversation", "{{ .Promt }}", 'it asks a conversation for ".Promt"'],
  [
    "an unknown field of a message",
    "{{ range .Messages }}{{ .Rolle }}{{ end }}",
    'it asks a message for ".Rolle"',
  ],
  ["a block that is not closed", "{{ if .Prompt }}", 'it has "if" without an "end"'],
  ["a text that is not closed", '{{ "a }}', "inside an action"],
  [
    "a template that calls itself",
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    `deeper than ${most.depth} levels`,
  ],
  [
    "parentheses inside each other",
    `{{ ${"(".repeat(2000)}1${")".repeat(2000)} }}`,
    `deeper than ${most.depth} levels`,
  ],
  [
    "blocks inside each other",
    `${"{{ if 1 }}".repeat(2000)}${"{{ end }}".repeat(2000)}`,
    `deeper than ${most.depth} levels`,
  ],
  [
    "loops inside loops",
    "{{ range 9999 }}{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}{{ end }}",
    "it takes more than",
  ],
  ["counting far", "{{ range 1000000000 }}{{ end }}", "it counts to more than"],
  [
    "a text without end",
    `{{ range 99999 }}${"x".repeat(1000)}{{ end }}`,
    `more than ${most.textBytes} bytes`,
  ],
  [
    "a text that doubles",
    `{{ $t := "abcd" }}{{ range 60 }}{{ $t = print $t $t }}{{ end }}`,
    "it makes a text of more than",
  ],
  ["wide numbers", '{{ printf "%999999999d" 1 }}', 'it asks "printf" for'],
  ["a source beyond all measure", "x".repeat(most.sourceCharacters + 1), "it is longer than"],
])("%s fails with a clear reason, in bounded time", ([, template, reason]) => {
  expect(reasonOf(() => render(template))).toContain(reason);
});
