import { Agent, type IncomingMessage, request } from "node:http";
import { createInterface } from "node:readline";

export type KeyedChat = {
  readonly url: string;
  readonly key: string;
  readonly prompt: string;
  readonly maxTokens: number;
  /** Without a chat template. */
  readonly isRaw?: boolean;
};

export type ChatResult = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** Whether it was told that it has to wait for its turn. */
  readonly hasWaited: boolean;
  readonly text: string;
  readonly firstTokenMilliseconds: number;
  /** Prompt tokens that were not cached. */
  readonly promptTokens: number;
  readonly outputTokens: number;
};

/** More than any test opens at once. */
const agent = new Agent({ keepAlive: true, maxSockets: 512 });

/** One chat of an API key, streamed as lines of JSON. */
export async function sendChat({
  url,
  key,
  prompt,
  maxTokens,
  isRaw = false,
}: KeyedChat): Promise<ChatResult> {
  const startedAt = performance.now();
  const options = { temperature: 0, num_predict: maxTokens };
  const input = isRaw ? { prompt, raw: true } : { messages: [{ role: "user", content: prompt }] };
  const body = JSON.stringify({ model: "model", ...input, options });
  const headers = { authorization: `Bearer ${key}`, "content-length": Buffer.byteLength(body) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(`${url}/api/${isRaw ? "generate" : "chat"}`, { method: "POST", agent, headers });
    sent.on("error", reject).on("response", resolve).end(body);
  });
  let result = { text: "", firstTokenMilliseconds: Number.NaN, promptTokens: 0, outputTokens: 0 };
  for await (const line of createInterface({ input: response })) {
    const {
      message,
      response: text,
      eval_count = 0,
      prompt_eval_count = 0,
      prompt_eval_cached_count = 0,
    } = JSON.parse(line);
    const elapsed = performance.now() - startedAt;
    const isFirst = Number.isNaN(result.firstTokenMilliseconds);
    result = {
      text: result.text + (message?.content ?? text ?? ""),
      firstTokenMilliseconds: isFirst ? elapsed : result.firstTokenMilliseconds,
      promptTokens: prompt_eval_count - prompt_eval_cached_count,
      outputTokens: eval_count,
    };
  }
  const retryAfter = response.headers["retry-after"];
  const hasWaited = response.headers["hearth-queue-position"] !== undefined;
  return { status: response.statusCode ?? 0, retryAfter, hasWaited, ...result };
}

let sentPrompts = 0;

/** A prompt of about this many words that no other one begins with, so that nothing of it is cached. */
export function uniquePrompt(words: number): string {
  sentPrompts += 1;
  return `${sentPrompts} ${"river stone cloud ember field ".repeat(words).split(" ").slice(0, words).join(" ")}`;
}
