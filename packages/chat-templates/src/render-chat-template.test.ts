import type { Conversation } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { readChatTemplate, type TemplateSources } from "./chat-template.ts";
import { type RenderOptions, renderChatTemplate } from "./render-chat-template.ts";

const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const specialTokens = { beginning: "<s>", end: "</s>", addsBeginning: false, addsEnd: false };

test("a model without a template is refused, one with an empty template renders nothing", () => {
  expect(failureOf(() => readChatTemplate({ usual: null }))).toEqual({
    kind: "template-failed",
    reason: "the model has no chat template",
  });
  expect(render({ usual: "" })).toBe("");
});

test("a template with wrong syntax is refused when it is read", () => {
  expect(failureOf(() => readChatTemplate({ usual: "{% for x in" }))).toMatchObject({
    kind: "template-failed",
  });
});

test("what a template raises reaches the caller as the reason", () => {
  const usual = "{{ raise_exception('No ' ~ messages[0].role ~ ' here') if messages[0].role == 'tool' }}fine";
  expect(render({ usual })).toBe("fine");
  const asTool: Conversation = { messages: [{ role: "tool", content: "hi" }] };
  expect(failureOf(() => render({ usual }, asTool))).toEqual({
    kind: "template-failed",
    reason: "No tool here",
  });
});

test("the template for tools is used for conversations with tools only, and alone for all", () => {
  const sources = { usual: "usual", forTools: "{{ tools[0].function.name }}" };
  expect(render(sources)).toBe("usual");
  expect(render(sources, { ...greeting, tools: [{ name: "clock" }] })).toBe("clock");
  expect(render({ usual: null, forTools: "{{ tools is defined }}" })).toBe("False");
});

test("a beginning or end token that the tokenizer adds by itself is not written twice", () => {
  const usual = "{{ bos_token }}hi{{ eos_token }}";
  expect(render({ usual })).toBe("<s>hi</s>");
  expect(
    render({ usual }, greeting, { specialTokens: { ...specialTokens, addsBeginning: true, addsEnd: true } }),
  ).toBe("hi");
});

test("the date is the one it is given, in every form templates ask for it", () => {
  const usual = "{{ date_string }}|{{ datetime }}|{{ strftime_now('%A %-d %B %Y, %H:%M') }}";
  expect(render({ usual }, greeting, { now: new Date(2026, 1, 3, 4, 5) })).toBe(
    "03 Feb 2026|Feb 03 2026|Tuesday 3 February 2026, 04:05",
  );
});

test("a template without a system role has it before the first message, one with it keeps it apart", () => {
  const messages = [{ role: "system", content: "Be brief." }, ...greeting.messages] as const;
  const each = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
  const without = `{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}${each}`;
  expect(render({ usual: without }, { messages })).toBe("[user:Be brief.\nhi]");
  expect(render({ usual: each }, { messages })).toBe("[system:Be brief.][user:hi]");
});

test("a template that reads parts only is given parts", () => {
  const usual =
    "{% for m in messages %}{% for part in m.content %}{{ part.type }}={{ part.text }}{% endfor %}{% endfor %}";
  expect(render({ usual })).toBe("text=hi");
});

test("arguments of calls are an object where the template reads into them, and JSON text where it prints them", () => {
  const call = { id: "1", name: "clock", arguments: { zone: "UTC" } };
  const messages = [...greeting.messages, { role: "assistant", content: null, toolCalls: [call] }] as const;
  expect(render({ usual: printCalls("c.function.arguments|tojson") }, { messages })).toBe('{"zone": "UTC"}');
  expect(render({ usual: printCalls("'call ' + c.function.arguments") }, { messages })).toBe(
    'call {"zone":"UTC"}',
  );
});

test("thinking is on for templates that know it unless switched off, and other variables pass through", () => {
  const usual = "{{ messages[-1].content }}{{ '<think>' if enable_thinking else '</think>' }}{{ style }}";
  expect(render({ usual })).toBe("hi<think>");
  expect(render({ usual }, { ...greeting, thinking: false })).toBe("hi</think>");
  expect(render({ usual }, { ...greeting, templateVariables: { style: "short" } })).toBe("hi<think>short");
});

test("images are refused, because a template cannot show them", () => {
  const image = { bytes: new Uint8Array(1), mediaType: "image/png" };
  const conversation: Conversation = { messages: [{ role: "user", content: "hi", images: [image] }] };
  expect(failureOf(() => render({ usual: "x" }, conversation))).toEqual({
    kind: "not-supported",
    feature: "images",
  });
  expect(render({ usual: "x" }, { messages: [{ role: "user", content: "hi", images: [] }] })).toBe("x");
});

function printCalls(what: string): string {
  return `{% for m in messages %}{% for c in m.tool_calls %}{{ ${what} }}{% endfor %}{% endfor %}`;
}

function render(
  sources: TemplateSources,
  conversation = greeting,
  parts: Partial<RenderOptions> = {},
): string {
  return renderChatTemplate(readChatTemplate(sources), conversation, {
    specialTokens,
    now: new Date(),
    ...parts,
  });
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (problem) {
    if (problem instanceof FailureError) return problem.failure;
    throw problem;
  }
  return "no failure";
}
