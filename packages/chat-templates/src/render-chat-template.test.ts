import type { Conversation } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { parseChatTemplate, type TemplateSources } from "./chat-template.ts";
import { type RenderOptions, renderChatTemplate } from "./render-chat-template.ts";

const greeting: Conversation = { messages: [{ role: "user", content: "hi" }] };
const specialTokens = { beginning: "<s>", end: "</s>", addsBeginning: false, addsEnd: false };

test("a model without a template is rejected, one with an empty template renders nothing", () => {
  expect(failureOf(() => parseChatTemplate({ default: null }))).toEqual({
    kind: "template-failed",
    reason: "the model has no chat template",
  });
  expect(render({ default: "" })).toBe("");
});

test("a template with invalid syntax is rejected when it is parsed", () => {
  expect(failureOf(() => parseChatTemplate({ default: "{% for x in" }))).toMatchObject({
    kind: "template-failed",
  });
});

test("the message of raise_exception becomes the reason of the failure", () => {
  const template =
    "{{ raise_exception('No ' ~ messages[0].role ~ ' here') if messages[0].role == 'tool' }}fine";
  expect(render({ default: template })).toBe("fine");
  const asTool: Conversation = { messages: [{ role: "tool", content: "hi" }] };
  expect(failureOf(() => render({ default: template }, asTool))).toEqual({
    kind: "template-failed",
    reason: "No tool here",
  });
});

test("the tool-use template is used for conversations with tools, and for all if it is the only one", () => {
  const sources = { default: "default", forTools: "{{ tools[0].function.name }}" };
  expect(render(sources)).toBe("default");
  expect(render(sources, { ...greeting, tools: [{ name: "clock" }] })).toBe("clock");
  expect(render({ default: null, forTools: "{{ tools is defined }}" })).toBe("False");
});

test("a beginning or end token that the tokenizer adds is not in the prompt too", () => {
  const template = "{{ bos_token }}hi{{ eos_token }}";
  expect(render({ default: template })).toBe("<s>hi</s>");
  expect(
    render({ default: template }, greeting, {
      specialTokens: { ...specialTokens, addsBeginning: true, addsEnd: true },
    }),
  ).toBe("hi");
});

test("the date is the given one in every format that templates use", () => {
  const template = "{{ date_string }}|{{ datetime }}|{{ strftime_now('%A %-d %B %Y, %H:%M') }}";
  expect(render({ default: template }, greeting, { now: new Date(2026, 1, 3, 4, 5) })).toBe(
    "03 Feb 2026|Feb 03 2026|Tuesday 3 February 2026, 04:05",
  );
});

test("without a system role, the system message is prepended to the first message; with one, it stays separate", () => {
  const messages = [{ role: "system", content: "Be brief." }, ...greeting.messages] as const;
  const each = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
  const without = `{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}${each}`;
  expect(render({ default: without }, { messages })).toBe("[user:Be brief.\nhi]");
  expect(render({ default: each }, { messages })).toBe("[system:Be brief.][user:hi]");
});

test("a template that only supports content parts gets content parts", () => {
  const template =
    "{% for m in messages %}{% for part in m.content %}{{ part.type }}={{ part.text }}{% endfor %}{% endfor %}";
  expect(render({ default: template })).toBe("text=hi");
});

test("call arguments are an object if the template accesses them, and a JSON string if it prints them", () => {
  const call = { id: "1", name: "clock", arguments: { zone: "UTC" } };
  const messages = [...greeting.messages, { role: "assistant", content: null, toolCalls: [call] }] as const;
  expect(render({ default: printCalls("c.function.arguments|tojson") }, { messages })).toBe(
    '{"zone": "UTC"}',
  );
  expect(render({ default: printCalls("'call ' + c.function.arguments") }, { messages })).toBe(
    'call {"zone":"UTC"}',
  );
});

test("thinking is on by default if the template supports it, and other variables are passed through", () => {
  const template = "{{ messages[-1].content }}{{ '<think>' if enable_thinking else '</think>' }}{{ style }}";
  expect(render({ default: template })).toBe("hi<think>");
  expect(render({ default: template }, { ...greeting, thinking: false })).toBe("hi</think>");
  expect(render({ default: template }, { ...greeting, templateVariables: { style: "short" } })).toBe(
    "hi<think>short",
  );
});

function conversationWith(media: object): Conversation {
  return { messages: [{ role: "user", content: "hi", ...media }] };
}

test.each([
  ["images", { images: [{ bytes: new Uint8Array(1), mediaType: "image/png" }] }, { images: [] }],
  [
    "audio input",
    { audio: [{ bytes: new Uint8Array(1), mediaType: "audio/wav", seconds: 1 }] },
    { audio: [] },
  ],
] as const)("%s is rejected, because a template cannot render it", (feature, some, none) => {
  expect(failureOf(() => render({ default: "x" }, conversationWith(some)))).toEqual({
    kind: "not-supported",
    feature,
  });
  expect(render({ default: "x" }, conversationWith(none))).toBe("x");
});

function printCalls(expression: string): string {
  return `{% for m in messages %}{% for c in m.tool_calls %}{{ ${expression} }}{% endfor %}{% endfor %}`;
}

function render(
  sources: TemplateSources,
  conversation = greeting,
  options: Partial<RenderOptions> = {},
): string {
  return renderChatTemplate(parseChatTemplate(sources), conversation, {
    specialTokens,
    now: new Date(),
    ...options,
  });
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
  return "no failure";
}
