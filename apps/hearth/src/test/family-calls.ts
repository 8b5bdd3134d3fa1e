type FamilyName = "local-runner" | "chat-completions" | "messages";

type Asking = {
  readonly model: string;
  /** By the family's own names; put where the family wants them. */
  readonly settings?: Readonly<Record<string, unknown>>;
};

/** The same short chat in the words of one family. */
export type FamilyCall = {
  readonly name: FamilyName;
  readonly path: string;
  /** The body of that chat, whole or as a stream. */
  readonly body: (asking: Asking, stream: boolean) => Readonly<Record<string, unknown>>;
  /** The text of the whole answer; a refusal is thrown. */
  readonly ask: (server: { readonly url: string }, asking: Asking) => Promise<string>;
};

const messages = [{ role: "user", content: "What is 2+2?" }];

export const familyCalls: readonly FamilyCall[] = [
  familyCall({
    name: "local-runner",
    path: "/api/chat",
    body: ({ model, settings }, stream) => ({ model, messages, stream, options: settings ?? {} }),
    // The shapes are those of the families' own documentation.
    textOf: (answer) => (answer as { message: { content: string } }).message.content,
  }),
  familyCall({
    name: "chat-completions",
    path: "/v1/chat/completions",
    body: ({ model, settings }, stream) => ({ model, messages, stream, ...settings }),
    textOf: (answer) =>
      // As above.
      (answer as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? "",
  }),
  familyCall({
    name: "messages",
    path: "/alt/v1/messages",
    body: ({ model, settings }, stream) => ({ model, messages, stream, max_tokens: 4096, ...settings }),
    textOf: (answer) =>
      // As above.
      (answer as { content: { text: string }[] }).content.map(({ text }) => text).join(""),
  }),
];

function familyCall({
  textOf,
  ...family
}: Omit<FamilyCall, "ask"> & { readonly textOf: (answer: unknown) => string }): FamilyCall {
  return {
    ...family,
    ask: async (server, asking) => {
      const body = JSON.stringify(family.body(asking, false));
      const response = await fetch(server.url + family.path, { method: "POST", body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${family.name} answered ${response.status}: ${text}`);
      return textOf(JSON.parse(text));
    },
  };
}
