/** A streaming request for the same chat in one of the APIs. */
export type ChatStream = {
  readonly api: "Ollama" | "OpenAI" | "Anthropic";
  readonly path: string;
  readonly body: (prompt: string, maxTokens: number) => Readonly<Record<string, unknown>>;
};

const model = "model";
const temperature = 0;

/** Thinking is off and sampling is greedy, so that every API returns the same output. */
export const chatStreams: readonly [ChatStream, ...ChatStream[]] = [
  {
    api: "Ollama",
    path: "/api/chat",
    body: (prompt, maxTokens) => ({
      model,
      messages: userMessage(prompt),
      think: false,
      stream: true,
      options: { temperature, num_predict: maxTokens },
    }),
  },
  {
    api: "OpenAI",
    path: "/v1/chat/completions",
    body: (prompt, maxTokens) => ({
      model,
      messages: userMessage(prompt),
      reasoning_effort: "none",
      temperature,
      max_tokens: maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    }),
  },
  {
    api: "Anthropic",
    path: "/alt/v1/messages",
    body: (prompt, maxTokens) => ({
      model,
      messages: userMessage(prompt),
      temperature,
      max_tokens: maxTokens,
      stream: true,
    }),
  },
];

function userMessage(prompt: string): readonly { readonly role: "user"; readonly content: string }[] {
  return [{ role: "user", content: prompt }];
}
