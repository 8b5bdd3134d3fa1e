import type { Conversation } from "@hearth-and-keep/engine";
import type { EngineClient } from "../wire/engine-client.ts";
import { countOf, type Fields, textOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Dialect } from "./dialects.ts";
import { requestEngine } from "./request-engine.ts";
import { writeMessages, writeTools } from "./write-messages.ts";
import type { RequestedEngine } from "./write-request.ts";
import { notSupported } from "./write-sampling.ts";

type Asking = RequestedEngine & { readonly signal: AbortSignal };
/** Without a path it is a text or a conversation to be made into tokens. */
type TokenizerQuestion = { readonly path?: string; readonly body: Fields };

/** An engine, or a proxy before it, that has no such question. */
const absent: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);
const askAgainMilliseconds = 60_000;

/** An engine's own tokenizer, as far as it can be asked; one that turned out to be absent is left alone for a while. */
export class Tokenizer {
  readonly #client: EngineClient;
  readonly #dialect: Dialect;
  #absentUntil = 0;

  constructor(client: EngineClient, dialect: Dialect) {
    this.#client = client;
    this.#dialect = dialect;
  }

  get kind(): Dialect["tokenizing"] {
    return performance.now() < this.#absentUntil ? "none" : this.#dialect.tokenizing;
  }

  async ask(question: TokenizerQuestion, signal: AbortSignal): Promise<Fields> {
    const path = question.path ?? this.#dialect.tokenizePath;
    try {
      return await requestEngine(this.#client, { path, body: question.body }, signal);
    } catch (problem) {
      const isRefused = problem instanceof WireError && problem.detail.kind === "refused";
      if (!isRefused || !absent.has(problem.detail.status)) throw problem;
      this.#absentUntil = performance.now() + askAgainMilliseconds;
      throw cannotCount();
    }
  }
}

export async function tokenizeText(
  tokenizer: Tokenizer,
  text: string,
  { model, signal }: Asking,
): Promise<readonly number[]> {
  if (tokenizer.kind === "none") throw cannotCount();
  const body =
    tokenizer.kind === "llama-server"
      ? { content: text, add_special: false, parse_special: true }
      : { model, prompt: text, add_special_tokens: false };
  const { tokens } = await tokenizer.ask({ body }, signal);
  if (!Array.isArray(tokens)) throw cannotCount();
  return tokens.map(Number);
}

/** How long the prompt is that the engine makes of a conversation, by its own tokenizer and never by a guess. */
export async function countTokens(
  tokenizer: Tokenizer,
  conversation: Conversation,
  asking: Asking,
): Promise<number> {
  if (tokenizer.kind === "none") throw cannotCount();
  const body =
    tokenizer.kind === "llama-server"
      ? {
          content: await renderPrompt(tokenizer, conversation, asking),
          add_special: true,
          parse_special: true,
        }
      : { model: asking.model, add_generation_prompt: true, ...writePrompt(conversation, asking) };
  const { count, tokens } = await tokenizer.ask({ body }, asking.signal);
  const told = countOf(count) ?? (Array.isArray(tokens) ? tokens.length : undefined);
  if (told === undefined) throw cannotCount();
  return told;
}

export async function renderPrompt(
  tokenizer: Tokenizer,
  conversation: Conversation,
  asking: Asking,
): Promise<string> {
  if (tokenizer.kind !== "llama-server") throw notSupported("showing a rendered prompt");
  const body = writePrompt(conversation, asking);
  const { prompt } = await tokenizer.ask({ path: "/apply-template", body }, asking.signal);
  return textOf(prompt);
}

function writePrompt(conversation: Conversation, asking: Asking): Fields {
  const tools = asking.knowsTools ? (conversation.tools ?? []) : [];
  return {
    messages: writeMessages(conversation, asking),
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
  };
}

function cannotCount(): Error {
  return notSupported("counting tokens");
}
