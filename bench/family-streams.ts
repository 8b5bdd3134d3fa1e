/** A stream of the same chat, asked for in the words of one family. */
export type FamilyStream = {
  readonly family: string;
  readonly path: string;
  readonly body: (prompt: string, maxTokens: number) => Readonly<Record<string, unknown>>;
};

const model = "model";
const temperature = 0;

/** Thinking is off and the likeliest token taken, so that every family writes the same answer. */
export const familyStreams: readonly [FamilyStream, ...FamilyStream[]] = [
  {
    family: "local-runner",
    path: "/api/chat",
    body: (prompt, maxTokens) => ({
      model,
      messages: asked(prompt),
      think: false,
      stream: true,
      options: { temperature, num_predict: maxTokens },
    }),
  },
  {
    family: "chat-completions",
    path: "/v1/chat/completions",
    body: (prompt, maxTokens) => ({
      model,
      messages: asked(prompt),
      reasoning_effort: "none",
      temperature,
      max_tokens: maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    }),
  },
  {
    family: "messages",
    path: "/alt/v1/messages",
    body: (prompt, maxTokens) => ({
      model,
      messages: asked(prompt),
      temperature,
      max_tokens: maxTokens,
      stream: true,
    }),
  },
];

function asked(prompt: string): readonly { readonly role: "user"; readonly content: string }[] {
  return [{ role: "user", content: prompt }];
}
