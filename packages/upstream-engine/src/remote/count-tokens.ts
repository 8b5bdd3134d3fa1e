import type { Conversation } from "@hearth-and-keep/llama-engine";
import type { EngineClient } from "../wire/engine-client.ts";
import { countOf, type Fields, listOf, textOf } from "../wire/json-fields.ts";
import { askEngine } from "./ask-engine.ts";
import { writeMessages, writeTools } from "./write-messages.ts";
import type { AskedEngine } from "./write-request.ts";
import { notSupported } from "./write-sampling.ts";

type Asking = AskedEngine & { readonly signal: AbortSignal };

/** Of an engine that cannot be asked: about four characters of English a token. Nothing is refused by it. */
const charactersPerToken = 4;

/** By the engine's own tokenizer; where it has none to ask, as many zeros as there may be tokens. */
export async function tokenizeText(
  client: EngineClient,
  text: string,
  { dialect, model, signal }: Asking,
): Promise<readonly number[]> {
  if (dialect.tokenizing === "estimate") return Array.from({ length: estimate(text) }, () => 0);
  const body =
    dialect.tokenizing === "llama-server"
      ? { content: text, add_special: false, parse_special: true }
      : { model, prompt: text, add_special_tokens: false };
  const { tokens } = await askEngine(client, { path: dialect.tokenizePath, body }, signal);
  return listOf(tokens).map(Number);
}

/** How long the prompt is that the engine makes of a conversation. */
export async function countTokens(
  client: EngineClient,
  conversation: Conversation,
  asking: Asking,
): Promise<number> {
  const { dialect, model, signal } = asking;
  if (dialect.tokenizing === "estimate") return estimate(JSON.stringify(writePrompt(conversation, asking)));
  if (dialect.tokenizing === "llama-server") {
    const content = await renderPrompt(client, conversation, asking);
    const body = { content, add_special: true, parse_special: true };
    const { tokens } = await askEngine(client, { path: dialect.tokenizePath, body }, signal);
    return listOf(tokens).length;
  }
  const body = { model, add_generation_prompt: true, ...writePrompt(conversation, asking) };
  const { count, tokens } = await askEngine(client, { path: dialect.tokenizePath, body }, signal);
  return countOf(count) ?? listOf(tokens).length;
}

export async function renderPrompt(
  client: EngineClient,
  conversation: Conversation,
  asking: Asking,
): Promise<string> {
  if (asking.dialect.tokenizing !== "llama-server") throw notSupported("showing a rendered prompt");
  const body = writePrompt(conversation, asking);
  const { prompt } = await askEngine(client, { path: "/apply-template", body }, asking.signal);
  return textOf(prompt);
}

function writePrompt(conversation: Conversation, asking: Asking): Fields {
  const tools = asking.knowsTools ? (conversation.tools ?? []) : [];
  return {
    messages: writeMessages(conversation, asking),
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
  };
}

function estimate(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}
