type ProtocolName = "Ollama" | "OpenAI" | "Anthropic";

type ChatOptions = {
  readonly model: string;
  /** By their names in the protocol; placed where the protocol expects them. */
  readonly settings?: Readonly<Record<string, unknown>>;
};

/** The same short chat in one of the protocols. */
export type ProtocolRequest = {
  readonly name: ProtocolName;
  readonly path: string;
  /** The body of the chat, streamed or not. */
  readonly body: (options: ChatOptions, stream: boolean) => Readonly<Record<string, unknown>>;
  /** Resolves to the complete output; rejects on an error response. */
  readonly send: (server: { readonly url: string }, options: ChatOptions) => Promise<string>;
};

const messages = [{ role: "user", content: "What is 2+2?" }];

export const protocolRequests: readonly ProtocolRequest[] = [
  protocolRequest({
    name: "Ollama",
    path: "/api/chat",
    body: ({ model, settings }, stream) => ({ model, messages, stream, options: settings ?? {} }),
    // The shapes are from the documentation of the protocols.
    textOf: (response) => (response as { message: { content: string } }).message.content,
  }),
  protocolRequest({
    name: "OpenAI",
    path: "/v1/chat/completions",
    body: ({ model, settings }, stream) => ({ model, messages, stream, ...settings }),
    textOf: (response) =>
      // As above.
      (response as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? "",
  }),
  protocolRequest({
    name: "Anthropic",
    path: "/alt/v1/messages",
    body: ({ model, settings }, stream) => ({ model, messages, stream, max_tokens: 4096, ...settings }),
    textOf: (response) =>
      // As above.
      (response as { content: { text: string }[] }).content.map(({ text }) => text).join(""),
  }),
];

function protocolRequest({
  textOf,
  ...protocol
}: Omit<ProtocolRequest, "send"> & { readonly textOf: (response: unknown) => string }): ProtocolRequest {
  return {
    ...protocol,
    send: async (server, options) => {
      const body = JSON.stringify(protocol.body(options, false));
      const response = await fetch(server.url + protocol.path, { method: "POST", body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${protocol.name} returned ${response.status}: ${text}`);
      return textOf(JSON.parse(text));
    },
  };
}
