/** One kind of request that could stall, kill or starve others, and its harmless counterpart. */
export type HarmfulKind = {
  readonly name: string;
  readonly path: string;
  readonly harmful: () => string | Buffer;
  /** Answered with 200. */
  readonly harmless: () => string;
};

export const model = "model";
export const message = { role: "user", content: "Say hi." };
export const schema = {
  type: "object",
  properties: { a: { type: "string", maxLength: 5 } },
  required: ["a"],
};
export const bases = {
  generate: { model, prompt: "Hi", stream: false, options: { num_predict: 2 } },
  chat: { model, messages: [message], stream: false, options: { num_predict: 2 } },
  completion: { model, messages: [message], max_tokens: 2 },
  text: { model, prompt: "Hi", max_tokens: 2 },
  response: { model, input: "Hi", max_output_tokens: 16 },
  anthropic: { model, messages: [message], max_tokens: 2 },
} as const;

export const tool = (parameters: unknown) => ({
  type: "function",
  function: { name: "f", description: "", parameters },
});
export const calling = (argumentsValue: unknown) => [
  message,
  { role: "assistant", content: "", tool_calls: [{ function: { name: "f", arguments: argumentsValue } }] },
  { role: "tool", content: "ok" },
];
