import { amountKinds } from "./harmful-amounts.ts";
import { bases, calling, type HarmfulKind, message, model, schema, tool } from "./harmful-bases.ts";

/** Replaced by JSON text that JSON.stringify could not write: it would overflow the stack itself. */
const hole = "@@hole@@";

const deepArrays = "[".repeat(3000) + "]".repeat(3000);
const deepObjects = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;

function fill(body: object, text: string): string {
  return JSON.stringify(body).replace(JSON.stringify(hole), () => text);
}

type Field = {
  readonly name: string;
  readonly path: string;
  readonly body: (value: unknown) => object;
  readonly valid: unknown;
};

const using = (input: unknown) => [
  message,
  { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "f", input }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "ok" }] },
];

/** Every field of the three APIs that can contain any JSON. */
const freeFields: readonly Field[] = [
  {
    name: "format of /api/generate",
    path: "/api/generate",
    body: (format) => ({ ...bases.generate, format }),
    valid: schema,
  },
  {
    name: "format of /api/chat",
    path: "/api/chat",
    body: (format) => ({ ...bases.chat, format }),
    valid: schema,
  },
  {
    name: "options of /api/generate",
    path: "/api/generate",
    body: (x) => ({ ...bases.generate, options: { num_predict: 2, x } }),
    valid: 1,
  },
  {
    name: "options of /api/chat",
    path: "/api/chat",
    body: (x) => ({ ...bases.chat, options: { num_predict: 2, x } }),
    valid: 1,
  },
  {
    name: "tool parameters of /api/chat",
    path: "/api/chat",
    body: (value) => ({ ...bases.chat, tools: [tool(value)] }),
    valid: schema,
  },
  {
    name: "tool arguments of /api/chat",
    path: "/api/chat",
    body: (value) => ({ ...bases.chat, messages: calling(value) }),
    valid: { a: "b" },
  },
  { name: "an unknown field of /api/chat", path: "/api/chat", body: (x) => ({ ...bases.chat, x }), valid: 1 },
  { name: "an unknown field of /api/show", path: "/api/show", body: (x) => ({ model, x }), valid: 1 },
  {
    name: "an unknown field of /api/embed",
    path: "/api/embed",
    body: (x) => ({ model, input: "Hi", x }),
    valid: 1,
  },
  {
    name: "tool parameters of /v1/chat/completions",
    path: "/v1/chat/completions",
    body: (value) => ({ ...bases.completion, tools: [tool(value)] }),
    valid: schema,
  },
  {
    name: "response_format",
    path: "/v1/chat/completions",
    body: (value) => ({
      ...bases.completion,
      response_format: { type: "json_schema", json_schema: { name: "s", schema: value } },
    }),
    valid: schema,
  },
  {
    name: "chat_template_kwargs",
    path: "/v1/chat/completions",
    body: (value) => ({ ...bases.completion, chat_template_kwargs: { value } }),
    valid: 1,
  },
  {
    name: "metadata of /v1/chat/completions",
    path: "/v1/chat/completions",
    body: (value) => ({ ...bases.completion, metadata: { value } }),
    valid: "x",
  },
  {
    name: "an unknown field of /v1/completions",
    path: "/v1/completions",
    body: (x) => ({ ...bases.text, x }),
    valid: 1,
  },
  {
    name: "tool parameters of /v1/responses",
    path: "/v1/responses",
    body: (parameters) => ({ ...bases.response, tools: [{ type: "function", name: "f", parameters }] }),
    valid: schema,
  },
  {
    name: "text.format of /v1/responses",
    path: "/v1/responses",
    body: (value) => ({
      ...bases.response,
      text: { format: { type: "json_schema", name: "s", schema: value } },
    }),
    valid: schema,
  },
  {
    name: "metadata of /v1/responses",
    path: "/v1/responses",
    body: (value) => ({ ...bases.response, metadata: { value } }),
    valid: "x",
  },
  {
    name: "input_schema of /alt/v1/messages",
    path: "/alt/v1/messages",
    body: (value) => ({ ...bases.anthropic, tools: [{ name: "f", input_schema: value }] }),
    valid: schema,
  },
  {
    name: "tool_use input of /alt/v1/messages",
    path: "/alt/v1/messages",
    body: (value) => ({ ...bases.anthropic, messages: using(value) }),
    valid: { a: "b" },
  },
  {
    name: "metadata of /alt/v1/messages",
    path: "/alt/v1/messages",
    body: (value) => ({ ...bases.anthropic, metadata: { user_id: value } }),
    valid: "x",
  },
  {
    name: "input_schema of count_tokens",
    path: "/alt/v1/messages/count_tokens",
    body: (value) => ({ model, messages: [message], tools: [{ name: "f", input_schema: value }] }),
    valid: schema,
  },
];

const deepKinds: readonly HarmfulKind[] = freeFields.flatMap(({ name, path, body, valid }) => [
  {
    name: `3,000 nested arrays in ${name}`,
    path,
    harmful: () => fill(body(hole), deepArrays),
    harmless: () => JSON.stringify(body(valid)),
  },
  {
    name: `20,000 nested objects in ${name}`,
    path,
    harmful: () => fill(body(hole), deepObjects),
    harmless: () => JSON.stringify(body(valid)),
  },
]);

type Prompted = { readonly path: string; readonly body: (prompt: string) => object };

const prompted: readonly Prompted[] = [
  { path: "/api/generate", body: (prompt) => ({ ...bases.generate, prompt }) },
  {
    path: "/api/chat",
    body: (content) => ({ ...bases.chat, truncate: false, messages: [{ role: "user", content }] }),
  },
  {
    path: "/v1/chat/completions",
    body: (content) => ({ ...bases.completion, messages: [{ role: "user", content }] }),
  },
  { path: "/v1/completions", body: (prompt) => ({ ...bases.text, prompt }) },
  { path: "/v1/responses", body: (input) => ({ ...bases.response, input }) },
  {
    path: "/alt/v1/messages",
    body: (content) => ({ ...bases.anthropic, messages: [{ role: "user", content }] }),
  },
  {
    path: "/alt/v1/messages/count_tokens",
    body: (content) => ({ model, messages: [{ role: "user", content }] }),
  },
];

const longKinds: readonly HarmfulKind[] = prompted.flatMap(({ path, body }) => [
  {
    name: `a prompt of 12 MB in ${path}`,
    path,
    harmful: () => JSON.stringify(body("A long story. ".repeat(860_000))),
    harmless: () => JSON.stringify(body("Hi")),
  },
  {
    name: `a body of 63 MB in ${path}`,
    path,
    harmful: () => fill({ ...body("Hi"), x: hole }, `[${"{},".repeat(21_000_000)}{}]`),
    harmless: () => JSON.stringify(body("Hi")),
  },
  {
    name: `3.9 MB of empty objects in ${path}`,
    path,
    harmful: () => fill({ ...body("Hi"), x: hole }, `[${"{},".repeat(1_300_000)}{}]`),
    harmless: () => JSON.stringify(body("Hi")),
  },
]);

/** Texts that may fit into the context by their length, so that they have to be tokenized. */
const dense: Readonly<Record<string, string>> = {
  words: "some words of a story ",
  "one word": "abcdefghij",
  digits: "1234567890",
  spaces: "          ",
  lines: "\n\n\n\n\n\n\n\n\n\n",
  emoji: "\u{1F600}\u{1F468}\u200D\u{1F469}",
  "combining marks": "e\u0301\u0302\u0303\u0304",
  "special tokens": "<|im_start|>user",
};

const denseKinds: readonly HarmfulKind[] = Object.entries(dense).map(([what, text]) => ({
  name: `400 kB of ${what}`,
  path: "/api/generate",
  harmful: () => JSON.stringify({ ...bases.generate, prompt: text.repeat(400_000 / text.length) }),
  harmless: () => JSON.stringify({ ...bases.generate, prompt: text }),
}));

const recursive = {
  $defs: {
    value: {
      anyOf: Array.from({ length: 20 }, (_none, minItems) => ({
        type: "array",
        minItems,
        items: { $ref: "#/$defs/value" },
      })),
    },
  },
  $ref: "#/$defs/value",
};

const formats: Readonly<Record<string, object>> = {
  "twenty recursive arrays": recursive,
  "an enum of 20,000 strings": { enum: Array.from({ length: 20_000 }, (_none, index) => `value ${index}`) },
  "a pattern with nested repetitions": { type: "string", pattern: "^((a|a)*)*b$" },
  "a pattern with large repetitions": { type: "string", pattern: "^(a{1,1000}){1,1000}$" },
  "billions of items": { type: "array", items: { type: "string" }, minItems: 1_000_000_000 },
  "2,000 properties": {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 2000 }, (_none, index) => [`p${index}`, { type: "string" }]),
    ),
  },
  "a thousand alternatives of objects": {
    anyOf: Array.from({ length: 1000 }, (_none, index) => ({
      type: "object",
      properties: { [`p${index}`]: { type: "string" } },
      required: [`p${index}`],
    })),
  },
  "references in a circle": {
    $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
    $ref: "#/$defs/a",
  },
};

const formatKinds: readonly HarmfulKind[] = Object.entries(formats).map(([what, format]) => ({
  name: `a format with ${what}`,
  path: "/api/generate",
  harmful: () => JSON.stringify({ ...bases.generate, format, options: { num_predict: 24, temperature: 0 } }),
  harmless: () => JSON.stringify({ ...bases.generate, format: schema }),
}));

export const harmfulKinds: readonly HarmfulKind[] = [
  ...deepKinds,
  ...longKinds,
  ...denseKinds,
  ...formatKinds,
  ...amountKinds,
];
