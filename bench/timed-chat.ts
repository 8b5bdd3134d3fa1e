import type { Served } from "./served.ts";

export type ChatTurn = { readonly role: "user" | "assistant"; readonly content: string };

export type TimedChat = {
  readonly firstMilliseconds: number;
  readonly text: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
};

type Chunk = {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens: number };
  } | null;
};

/** Streams a chat with the model named `model`, and measures the time to the first text. */
export async function timeChat(
  server: Served,
  messages: readonly ChatTurn[],
  key?: string,
): Promise<TimedChat> {
  const startedAt = performance.now();
  const response = await post(server, "/v1/chat/completions", {
    key,
    body: {
      model: "model",
      messages,
      temperature: 0,
      max_tokens: 8,
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  let firstMilliseconds = Number.NaN;
  let received = "";
  for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += bytes;
    if (Number.isNaN(firstMilliseconds) && /"content":"[^"]/u.test(received)) {
      firstMilliseconds = performance.now() - startedAt;
    }
  }
  const chunks = [...received.matchAll(/^data: (\{.*)$/gmu)].map(
    // Our own server's chunks.
    ([, text = ""]) => JSON.parse(text) as Chunk,
  );
  const usage = chunks.findLast((chunk) => chunk.usage !== undefined && chunk.usage !== null)?.usage;
  return {
    firstMilliseconds,
    text: chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join(""),
    promptTokens: usage?.prompt_tokens ?? Number.NaN,
    cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

/** Loads the model without a prompt. */
export async function loadModel(server: Served, key?: string): Promise<void> {
  await (await post(server, "/api/generate", { key, body: { model: "model" } })).text();
}

export async function unloadModel(server: Served, key?: string): Promise<void> {
  await (await post(server, "/api/generate", { key, body: { model: "model", keep_alive: 0 } })).text();
}

async function post(
  { url }: Served,
  path: string,
  { key, body }: { readonly key: string | undefined; readonly body: object },
): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
  return response;
}
