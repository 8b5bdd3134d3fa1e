import type { Conversation, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { defaultTemplateLimits } from "./budget.ts";
import { readChatTemplate } from "./chat-template.ts";
import { renderChatTemplate } from "./render-chat-template.ts";

const specialTokens = { beginning: "", end: "", addsBeginning: false, addsEnd: false };
const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const longestRefusalMilliseconds = hasLooseTimingBounds ? 5_000 : 1_000;
const most = defaultTemplateLimits;

test.for<[what: string, source: string, reason: string]>([
  [
    "counts to a thousand million",
    "{% for i in range(10**9) %}x{% endfor %}",
    `more than ${most.steps} steps`,
  ],
  [
    "loops inside loops",
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
    `more than ${most.steps} steps`,
  ],
  [
    "doubles a text sixty times",
    "{% set n = namespace(s='abcd') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    `more than ${most.textBytes} bytes`,
  ],
  [
    "replaces every letter by the whole text",
    "{% set n = namespace(s='aaaa') %}{% for i in range(60) %}{% set n.s = n.s|replace('a', n.s) %}{% endfor %}",
    `more than ${most.textBytes} bytes`,
  ],
  [
    "doubles a list sixty times",
    "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}",
    `more than ${most.steps} steps`,
  ],
  [
    "keeps long texts in a list",
    "{% set l = [] %}{% for i in range(99999) %}{% set _ = l.append(('x' ~ i) * 9999) %}{% endfor %}",
    `more than ${most.steps} steps`,
  ],
  [
    "calls itself",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    `deeper than ${most.depth} levels`,
  ],
  [
    "calls itself twice",
    "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    `deeper than ${most.depth} levels`,
  ],
  ["repeats a text", "{{ 'a' * 10**12 }}", `more than ${most.textBytes} bytes`],
  ["indents by far too much", "{{ 'a\nb'|indent(10**9) }}", `more than ${most.textBytes} bytes`],
  ["indents JSON by far too much", "{{ [[1]]|tojson(indent=10**8) }}", "indents by 64 at most"],
  ["prints a list that holds itself", "{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}", "it "],
  [
    "prints a list that shares itself forty times over",
    "{% set n = namespace(l=[1]) %}{% for i in range(40) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l|tojson }}",
    `more than ${most.steps} steps`,
  ],
  ["keeps the parser busy with spaces", `{{ x }}${" ".repeat(200_000)}{{ y }}`, "too much white space"],
  ["nests brackets without end", `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`, "its syntax is wrong"],
  [
    "is longer than any template",
    "x".repeat(most.sourceCharacters + 1),
    `longer than ${most.sourceCharacters} characters`,
  ],
  ["reaches for JavaScript", "{{ [].constructor.constructor('return process')() }}", "it calls"],
])("a template that %s is refused within a second", ([, source, reason]) => {
  const started = performance.now();
  expect(refusal(source)).toContain(reason);
  expect(performance.now() - started).toBeLessThan(longestRefusalMilliseconds);
});

test.for<[what: string, source: string, prompt: string]>([
  [
    "counts to a thousand",
    "{% for i in range(1000) %}{% if loop.last %}{{ i }}{% endif %}{% endfor %}",
    "999",
  ],
  [
    "loops inside loops",
    "{% set n = namespace(i=0) %}{% for a in range(99) %}{% for b in range(99) %}{% set n.i = n.i + 1 %}{% endfor %}{% endfor %}{{ n.i }}",
    "9801",
  ],
  [
    "doubles a text ten times",
    "{% set n = namespace(s='ab') %}{% for i in range(10) %}{% set n.s = n.s + n.s %}{% endfor %}{{ n.s|length }}",
    "2048",
  ],
  [
    "calls itself twenty times",
    "{% macro f(n) %}{{ f(n - 1) if n > 0 else 'end' }}{% endmacro %}{{ f(20) }}",
    "end",
  ],
  ["repeats a text", "{{ ('a' * 1000)|length }}", "1000"],
  ["indents", "{{ 'a\nb'|indent(2) }}", "a\n  b"],
  [
    "has a key named like JavaScript's own",
    "{{ {'__proto__': 1, 'constructor': 2}|tojson }}",
    '{"__proto__": 1, "constructor": 2}',
  ],
])("an honest template that %s is rendered", ([, source, prompt]) => {
  expect(
    renderChatTemplate(readChatTemplate({ usual: source }), greeting, { specialTokens, now: new Date() }),
  ).toBe(prompt);
});

test("a conversation of a thousand long messages is rendered, and one over the limit of bytes is refused", () => {
  const template = readChatTemplate({
    usual: "{% for m in messages %}{{ m.role ~ ': ' ~ m.content|trim ~ '\n' }}{% endfor %}",
  });
  const parts = { specialTokens, now: new Date() };
  const message: Message = { role: "user", content: "word ".repeat(1000) };
  const long = Array.from({ length: 1000 }, () => message);
  expect(renderChatTemplate(template, { messages: long }, parts)).toHaveLength(
    1000 * "user: ".length + 1000 * 5000,
  );
  const tooLong: Conversation = { messages: Array.from({ length: 4000 }, () => message) };
  expect(() => renderChatTemplate(template, tooLong, parts)).toThrow(FailureError);
});

function refusal(source: string): string {
  try {
    renderChatTemplate(readChatTemplate({ usual: source }), greeting, { specialTokens, now: new Date() });
  } catch (problem) {
    if (problem instanceof FailureError && problem.failure.kind === "template-failed")
      return String(problem.failure.reason);
    throw problem;
  }
  return "not refused";
}
