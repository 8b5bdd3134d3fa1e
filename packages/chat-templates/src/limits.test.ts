import type { Conversation, Message } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { hasLooseTimingBounds, startProcessorClock } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { defaultTemplateLimits } from "./budget.ts";
import { parseChatTemplate } from "./chat-template.ts";
import { renderChatTemplate } from "./render-chat-template.ts";

const specialTokens = { beginning: "", end: "", addsBeginning: false, addsEnd: false };
const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const maxRejectionMilliseconds = hasLooseTimingBounds ? 5_000 : 1_000;
const limits = defaultTemplateLimits;

test.for<[what: string, source: string, reason: string]>([
  ["iterates a billion times", "{% for i in range(10**9) %}x{% endfor %}", `limit of ${limits.steps} steps`],
  [
    "nests loops",
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
    `limit of ${limits.steps} steps`,
  ],
  [
    "doubles a string sixty times",
    "{% set n = namespace(s='abcd') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    `limit of ${limits.textBytes} bytes`,
  ],
  [
    "replaces every letter by the whole string",
    "{% set n = namespace(s='aaaa') %}{% for i in range(60) %}{% set n.s = n.s|replace('a', n.s) %}{% endfor %}",
    `limit of ${limits.textBytes} bytes`,
  ],
  [
    "doubles a list sixty times",
    "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}",
    `limit of ${limits.steps} steps`,
  ],
  [
    "collects long strings in a list",
    "{% set l = [] %}{% for i in range(99999) %}{% set _ = l.append(('x' ~ i) * 9999) %}{% endfor %}",
    `limit of ${limits.steps} steps`,
  ],
  [
    "calls itself",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    `limit of ${limits.depth} nested levels`,
  ],
  [
    "calls itself twice",
    "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    `limit of ${limits.depth} nested levels`,
  ],
  ["repeats a string", "{{ 'a' * 10**12 }}", `limit of ${limits.textBytes} bytes`],
  ["indents by a huge width", "{{ 'a\nb'|indent(10**9) }}", `limit of ${limits.textBytes} bytes`],
  ["indents JSON by a huge width", "{{ [[1]]|tojson(indent=10**8) }}", "indent must be at most 64"],
  ["prints a list that contains itself", "{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}", "it "],
  [
    "prints a list of exponential size",
    "{% set n = namespace(l=[1]) %}{% for i in range(40) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l|tojson }}",
    `limit of ${limits.steps} steps`,
  ],
  ["slows the parser down with spaces", `{{ x }}${" ".repeat(200_000)}{{ y }}`, "too much whitespace"],
  ["nests thousands of parentheses", `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`, "syntax error"],
  ["is too long", "x".repeat(limits.sourceCharacters + 1), `limit of ${limits.sourceCharacters} characters`],
  ["tries to access JavaScript", "{{ [].constructor.constructor('return process')() }}", "it calls"],
])("a template that %s is rejected within a second", ([, source, reason]) => {
  const elapsed = startProcessorClock();
  expect(rejectionReason(source)).toContain(reason);
  expect(elapsed()).toBeLessThan(maxRejectionMilliseconds);
});

test.for<[what: string, source: string, prompt: string]>([
  [
    "iterates a thousand times",
    "{% for i in range(1000) %}{% if loop.last %}{{ i }}{% endif %}{% endfor %}",
    "999",
  ],
  [
    "nests loops",
    "{% set n = namespace(i=0) %}{% for a in range(99) %}{% for b in range(99) %}{% set n.i = n.i + 1 %}{% endfor %}{% endfor %}{{ n.i }}",
    "9801",
  ],
  [
    "doubles a string ten times",
    "{% set n = namespace(s='ab') %}{% for i in range(10) %}{% set n.s = n.s + n.s %}{% endfor %}{{ n.s|length }}",
    "2048",
  ],
  [
    "calls itself twenty times",
    "{% macro f(n) %}{{ f(n - 1) if n > 0 else 'end' }}{% endmacro %}{{ f(20) }}",
    "end",
  ],
  ["repeats a string", "{{ ('a' * 1000)|length }}", "1000"],
  ["indents", "{{ 'a\nb'|indent(2) }}", "a\n  b"],
  [
    "has keys with names of JavaScript properties",
    "{{ {'__proto__': 1, 'constructor': 2}|tojson }}",
    '{"__proto__": 1, "constructor": 2}',
  ],
])("a legitimate template that %s is rendered", ([, source, prompt]) => {
  expect(
    renderChatTemplate(parseChatTemplate({ default: source }), greeting, { specialTokens, now: new Date() }),
  ).toBe(prompt);
});

test("a conversation of a thousand long messages is rendered, and one over the byte limit is rejected", () => {
  const template = parseChatTemplate({
    default: "{% for m in messages %}{{ m.role ~ ': ' ~ m.content|trim ~ '\n' }}{% endfor %}",
  });
  const options = { specialTokens, now: new Date() };
  const message: Message = { role: "user", content: "word ".repeat(1000) };
  const long = Array.from({ length: 1000 }, () => message);
  expect(renderChatTemplate(template, { messages: long }, options)).toHaveLength(
    1000 * "user: ".length + 1000 * 5000,
  );
  const tooLong: Conversation = { messages: Array.from({ length: 4000 }, () => message) };
  expect(() => renderChatTemplate(template, tooLong, options)).toThrow(FailureError);
});

function rejectionReason(source: string): string {
  try {
    renderChatTemplate(parseChatTemplate({ default: source }), greeting, { specialTokens, now: new Date() });
  } catch (error) {
    if (error instanceof FailureError && error.failure.kind === "template-failed")
      return String(error.failure.reason);
    throw error;
  }
  return "not rejected";
}
