import type { Conversation } from "@hearth-and-keep/engine";
import type { EngineClient } from "../wire/engine-client.ts";
import { countOf, type Fields, textOf } from "../wire/json-fields.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Dialect } from "./dialects.ts";
import { requestEngine } from "./request-engine.ts";
import { writeMessages, writeTools } from "./write-messages.ts";
import type { RequestedEngine } from "./write-request.ts";
import { notSupported } from "./write-sampling.ts";

type TokenizerContext = RequestedEngine & { readonly signal: AbortSignal };
/** Without a path, the request goes to the dialect's tokenize endpoint. */
type TokenizerRequest = { readonly path?: string; readonly body: Fields };

/** The status codes of an engine, or a proxy in front of it, that does not have the endpoint. */
const missingEndpointStatuses: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);
const retryMilliseconds = 60_000;

/** An engine's own tokenizer. If its endpoint turns out to be missing, it is not requested again for a while. */
export class Tokenizer {
  readonly #client: EngineClient;
  readonly #dialect: Dialect;
  #unavailableUntil = 0;

  constructor(client: EngineClient, dialect: Dialect) {
    this.#client = client;
    this.#dialect = dialect;
  }

  get kind(): Dialect["tokenizer"] {
    return performance.now() < this.#unavailableUntil ? "none" : this.#dialect.tokenizer;
  }

  async request(request: TokenizerRequest, signal: AbortSignal): Promise<Fields> {
    const path = request.path ?? this.#dialect.tokenizePath;
    try {
      return await requestEngine(this.#client, { path, body: request.body }, signal);
    } catch (error) {
      const isErrorResponse = error instanceof WireError && error.detail.kind === "error-response";
      if (!isErrorResponse || !missingEndpointStatuses.has(error.detail.status)) throw error;
      this.#unavailableUntil = performance.now() + retryMilliseconds;
      throw countingNotSupported();
    }
  }
}

export async function tokenizeText(
  tokenizer: Tokenizer,
  text: string,
  { model, signal }: TokenizerContext,
): Promise<readonly number[]> {
  if (tokenizer.kind === "none") throw countingNotSupported();
  const body =
    tokenizer.kind === "llama-server"
      ? { content: text, add_special: false, parse_special: true }
      : { model, prompt: text, add_special_tokens: false };
  const { tokens } = await tokenizer.request({ body }, signal);
  if (!Array.isArray(tokens)) throw countingNotSupported();
  return tokens.map(Number);
}

/**
 * The length of the prompt that the engine renders from a conversation, counted by its own tokenizer and never
 * estimated.
 */
export async function countTokens(
  tokenizer: Tokenizer,
  conversation: Conversation,
  context: TokenizerContext,
): Promise<number> {
  if (tokenizer.kind === "none") throw countingNotSupported();
  const body =
    tokenizer.kind === "llama-server"
      ? {
          content: await renderPrompt(tokenizer, conversation, context),
          add_special: true,
          parse_special: true,
        }
      : { model: context.model, add_generation_prompt: true, ...writePrompt(conversation, context) };
  const { count, tokens } = await tokenizer.request({ body }, context.signal);
  const length = countOf(count) ?? (Array.isArray(tokens) ? tokens.length : undefined);
  if (length === undefined) throw countingNotSupported();
  return length;
}

export async function renderPrompt(
  tokenizer: Tokenizer,
  conversation: Conversation,
  context: TokenizerContext,
): Promise<string> {
  if (tokenizer.kind !== "llama-server") throw notSupported("prompt rendering");
  const body = writePrompt(conversation, context);
  const { prompt } = await tokenizer.request({ path: "/apply-template", body }, context.signal);
  return textOf(prompt);
}

function writePrompt(conversation: Conversation, context: TokenizerContext): Fields {
  const tools = context.supportsTools ? (conversation.tools ?? []) : [];
  return {
    messages: writeMessages(conversation, context),
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
  };
}

function countingNotSupported(): Error {
  return notSupported("token counting");
}
