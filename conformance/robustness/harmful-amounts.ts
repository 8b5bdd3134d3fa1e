import { bases, calling, type HarmfulKind, message, model, schema, tool } from "./harmful-bases.ts";

const many = (count: number, write: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_none, index) => write(index));

/** Too many or too large values of fields that are otherwise fine. */
export const amountKinds: readonly HarmfulKind[] = [
  {
    name: "1,000 tools in /api/chat",
    path: "/api/chat",
    harmful: () =>
      JSON.stringify({
        ...bases.chat,
        tools: many(1000, (index) => ({
          type: "function",
          function: { name: `f${index}`, description: "x".repeat(500), parameters: schema },
        })),
      }),
    harmless: () => JSON.stringify({ ...bases.chat, tools: [tool(schema)] }),
  },
  {
    name: "1,000 tools that must be called",
    path: "/v1/chat/completions",
    harmful: () =>
      JSON.stringify({
        ...bases.completion,
        tool_choice: "required",
        tools: many(1000, (index) => ({
          type: "function",
          function: { name: `f${index}`, parameters: schema },
        })),
      }),
    harmless: () => JSON.stringify({ ...bases.completion, tool_choice: "required", tools: [tool(schema)] }),
  },
  {
    name: "1,000 stop strings",
    path: "/api/generate",
    harmful: () =>
      JSON.stringify({
        ...bases.generate,
        options: { num_predict: 8, stop: many(1000, (index) => `stop ${index}`) },
      }),
    harmless: () => JSON.stringify({ ...bases.generate, options: { num_predict: 8, stop: ["stop"] } }),
  },
  {
    name: "a stop string of 1 MB",
    path: "/api/generate",
    harmful: () =>
      JSON.stringify({ ...bases.generate, options: { num_predict: 8, stop: ["x".repeat(1_000_000)] } }),
    harmless: () => JSON.stringify({ ...bases.generate, options: { num_predict: 8, stop: ["x"] } }),
  },
  {
    name: "a bias for 40,000 tokens",
    path: "/v1/chat/completions",
    harmful: () =>
      JSON.stringify({
        ...bases.completion,
        logit_bias: Object.fromEntries(Array.from({ length: 40_000 }, (_none, index) => [String(index), 1])),
      }),
    harmless: () => JSON.stringify({ ...bases.completion, logit_bias: { 5: 1 } }),
  },
  {
    name: "50,000 messages",
    path: "/api/chat",
    harmful: () => JSON.stringify({ ...bases.chat, messages: many(50_000, () => message) }),
    harmless: () => JSON.stringify({ ...bases.chat, messages: [message] }),
  },
  {
    name: "10,000 messages to count",
    path: "/alt/v1/messages/count_tokens",
    harmful: () => JSON.stringify({ model, messages: many(10_000, () => message) }),
    harmless: () => JSON.stringify({ model, messages: [message] }),
  },
  {
    name: "10,000 tool calls in a message",
    path: "/api/chat",
    harmful: () =>
      JSON.stringify({
        ...bases.chat,
        messages: [
          message,
          {
            role: "assistant",
            content: "",
            tool_calls: many(10_000, () => ({ function: { name: "f", arguments: {} } })),
          },
          message,
        ],
      }),
    harmless: () => JSON.stringify({ ...bases.chat, messages: calling({}) }),
  },
  {
    name: "a template of 1 MB",
    path: "/api/generate",
    harmful: () => JSON.stringify({ ...bases.generate, template: "{{ .Prompt }}".repeat(80_000) }),
    harmless: () => JSON.stringify({ ...bases.generate, template: "{{ .Prompt }}" }),
  },
  {
    name: "a template with 20,000 nested conditions",
    path: "/api/generate",
    harmful: () =>
      JSON.stringify({
        ...bases.generate,
        template: `${"{{ if .Prompt }}".repeat(20_000)}x${"{{ end }}".repeat(20_000)}`,
      }),
    harmless: () => JSON.stringify({ ...bases.generate, template: "{{ if .Prompt }}{{ .Prompt }}{{ end }}" }),
  },
  {
    name: "a system prompt of 3 MB",
    path: "/api/generate",
    harmful: () => JSON.stringify({ ...bases.generate, system: "Be kind. ".repeat(330_000) }),
    harmless: () => JSON.stringify({ ...bases.generate, system: "Be kind." }),
  },
  {
    name: "20 MB of an image that is none",
    path: "/api/chat",
    harmful: () =>
      JSON.stringify({ ...bases.chat, messages: [{ ...message, images: ["A".repeat(20_000_000)] }] }),
    harmless: () => JSON.stringify(bases.chat),
  },
  {
    name: "20 alternatives for every token",
    path: "/api/generate",
    harmful: () =>
      JSON.stringify({ ...bases.generate, logprobs: true, top_logprobs: 20, options: { num_predict: 64 } }),
    harmless: () => JSON.stringify({ ...bases.generate, logprobs: true }),
  },
  {
    name: "a whole vocabulary",
    path: "/api/show",
    harmful: () => JSON.stringify({ model, verbose: true }),
    harmless: () => JSON.stringify({ model }),
  },
  {
    name: "a context of two billion tokens",
    path: "/api/generate",
    harmful: () => JSON.stringify({ ...bases.generate, options: { num_ctx: 2_000_000_000, num_predict: 2 } }),
    harmless: () => JSON.stringify(bases.generate),
  },
];
