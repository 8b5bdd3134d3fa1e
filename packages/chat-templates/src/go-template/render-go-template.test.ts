import type { Conversation } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { defaultTemplateLimits } from "../budget.ts";
import { parseModelTemplate } from "../model-template.ts";
import { parseGoSource, renderGoInsert, renderGoTemplate } from "./render-go-template.ts";

const now = new Date(2026, 2, 1, 12);
const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const limits = defaultTemplateLimits;

function render(template: string, conversation = greeting): string {
  return renderGoTemplate(parseGoSource(template), conversation, { now });
}

function reasonOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof FailureError && error.failure.kind === "template-failed")
      return error.failure.reason;
    throw error;
  }
  return "none";
}

const weather: Conversation = {
  messages: [
    { role: "user", content: "Rain?" },
    {
      role: "assistant",
      content: null,
      reasoning: "look up",
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

const toolsJson =
  '[{"type":"function","function":{"name":"weather","description":"","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string","description":"where","minLength":1},"days":{"type":["integer","array"]},"when":{"anyOf":[{"type":"string"},{"type":"null"}]}},"additionalProperties":false}}}]';

test.for<[what: string, template: string, prompt: string]>([
  [
    "tools print as JSON with their complete schemas",
    "{{ .Tools }}{{ range .Messages }}{{ end }}",
    toolsJson,
  ],
  [
    "a single tool prints as JSON too, as in the templates of Llama 3",
    "{{ range .Tools }}{{ . }}{{ end }}{{ range .Messages }}{{ end }}",
    toolsJson.slice(1, -1),
  ],
  [
    "arguments print as JSON with sorted keys and can be iterated",
    "{{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Arguments }}{{ range $k, $v := .Function.Arguments }} {{ $k }}={{ $v }}{{ end }}{{ end }}{{ end }}",
    '{"city":"\\u003cParis\\u003e","deep":{"a":null,"b":[1]},"n":1500000} city=<Paris> deep=map[a:<nil> b:[1]] n=1.5e+06',
  ],
  [
    "property types print as TypeScript",
    "{{ range .Tools }}{{ range $n, $p := .Function.Parameters.Properties }}{{ $n }}?: {{ toTypeScriptType $p }}; {{ end }}{{ end }}{{ range .Messages }}{{ end }}",
    "city?: string; days?: number | any[]; when?: string | null; ",
  ],
  [
    "tool results have the name of their tool, and earlier turns their reasoning",
    "{{ range .Messages }}{{ .Role }}/{{ .ToolName }}/{{ .ToolCallID }}/{{ .Thinking }};{{ end }}",
    "user///;assistant///look up;tool/weather/c1/;",
  ],
  [
    "today and yesterday are dates",
    '{{ currentDate }} {{ yesterdayDate "2006" }}{{ range .Messages }}{{ end }}',
    "2026-03-01 2026-02-28",
  ],
])("%s", ([, template, prompt]) => {
  expect(render(template, weather)).toBe(prompt);
});

test("a template for one exchange is rendered turn by turn, and nothing follows the open response", () => {
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

test("thinking is enabled if the template supports it, unless the request disables it", () => {
  const template =
    "{{ if .IsThinkSet }}{{ .Think }}:{{ .ThinkLevel }}{{ end }}{{ range .Messages }}{{ end }}";
  expect(render(template)).toBe("true:medium");
  expect(render(template, { ...greeting, thinking: false })).toBe("false:");
  expect(
    render(template, { ...greeting, thinking: true, templateVariables: { reasoning_effort: "high" } }),
  ).toBe("true:high");
  expect(render("{{ .IsThinkSet }}{{ range .Messages }}{{ end }}")).toBe("false");
});

test("a template with .Suffix supports fill-in-the-middle, one without does not", () => {
  const coder = "{{ if .Suffix }}<PRE>{{ .Prompt }}<SUF>{{ .Suffix }}<MID>{{ else }}{{ .Prompt }}{{ end }}";
  const texts = { prefix: "a(", suffix: ")" };
  expect(renderGoInsert(parseGoSource(coder), texts, { now })).toBe("<PRE>a(<SUF>)<MID>");
  expect(render(coder)).toBe("hi");
  expect(parseModelTemplate({ default: null }, coder).renderInsert?.(texts, now)).toBe("<PRE>a(<SUF>)<MID>");
  expect(parseModelTemplate({ default: "{{ messages[0].content }}" }, coder).renderInsert).toBeDefined();
  expect(parseModelTemplate({ default: null }, "{{ .Prompt }}").renderInsert).toBeUndefined();
});

test("the model file's Jinja template takes precedence, and an invalid Go template next to it is ignored", () => {
  const specialTokens = { beginning: "", end: "", addsBeginning: false, addsEnd: false };
  const options = { specialTokens, now };
  expect(parseModelTemplate({ default: "jinja" }, "go {{ .Prompt }}").render(greeting, options)).toBe(
    "jinja",
  );
  expect(parseModelTemplate({ default: "jinja" }, "{{ if }}").render(greeting, options)).toBe("jinja");
  expect(parseModelTemplate({ default: null }, "go {{ .Prompt }}").render(greeting, options)).toBe("go hi");
});

test.for<[what: string, template: string, reason: string]>([
  ["an unknown function", "{{ shout .Prompt }}", 'unknown function "shout"'],
  ["an unknown field of a conversation", "{{ .Promt }}", 'conversation has no field ".Promt"'],
  [
    "an unknown field of a message",
    "{{ range .Messages }}{{ .Rolle }}{{ end }}",
    'message has no field ".Rolle"',
  ],
  ["a block that is not closed", "{{ if .Prompt }}", '"if" without "end"'],
  ["a string that is not closed", '{{ "a }}', "in an action"],
  [
    "a template that calls itself",
    '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}',
    `limit of ${limits.depth} nested levels`,
  ],
  [
    "nested parentheses",
    `{{ ${"(".repeat(2000)}1${")".repeat(2000)} }}`,
    `limit of ${limits.depth} nested levels`,
  ],
  [
    "nested blocks",
    `${"{{ if 1 }}".repeat(2000)}${"{{ end }}".repeat(2000)}`,
    `limit of ${limits.depth} nested levels`,
  ],
  [
    "nested loops",
    "{{ range 9999 }}{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}{{ end }}",
    `limit of ${limits.steps + 20_000} steps`,
  ],
  ["a very long range", "{{ range 1000000000 }}{{ end }}", "it exceeds the limit of 100000 iterations"],
  ["very long output", `{{ range 99999 }}${"x".repeat(1000)}{{ end }}`, `limit of ${limits.textBytes} bytes`],
  [
    "a string that doubles",
    `{{ $t := "abcd" }}{{ range 60 }}{{ $t = print $t $t }}{{ end }}`,
    `limit of ${limits.textBytes} bytes of text`,
  ],
  ["a huge printf width", '{{ printf "%999999999d" 1 }}', "printf: the width"],
  [
    "a source that is too long",
    "x".repeat(limits.sourceCharacters + 1),
    `limit of ${limits.sourceCharacters} characters`,
  ],
])("%s fails with a clear reason in bounded time", ([, template, reason]) => {
  expect(reasonOf(() => render(template))).toContain(reason);
});
