import type { Message } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { CountTokensBody } from "../schema.ts";
import { type Attachments, joinTexts, type ReadBlocks, readBlocks } from "./read-blocks.ts";
import type { Toolset } from "./toolset.ts";

export type ReadConversation = {
  readonly messages: readonly Message[];
  /** The types of blocks that the model does not see. */
  readonly skippedBlocks: readonly string[];
};

type WireMessage = CountTokensBody["messages"][number];

type ConversationContext = Attachments & {
  readonly chatTemplate: string | null;
  /** Changed by the messages. */
  readonly toolset: Toolset;
};

/**
 * Translates the messages of a request. Consecutive messages of one role become one turn, tool results come before the
 * user's text of the same message, and system messages keep their role.
 */
export function readConversation(
  { system, messages }: Pick<CountTokensBody, "system" | "messages">,
  { chatTemplate, ...context }: ConversationContext,
): ReadConversation {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const read = messages.map((message, index) => ({
    role: message.role,
    blocks: readMessage(message, { ...context, field: `messages.${index}.content` }),
    /** Whether the text was for the user's turn before it only. */
    isCleared: message.role === "system" && message.clear_at === "next_user_message" && index < lastUser,
  }));
  const toolNames = new Map(read.flatMap(({ blocks }) => blocks.toolCalls.map(({ id, name }) => [id, name])));
  const changeRole = mayReject(chatTemplate) ? "user" : "system";
  const turns = read.flatMap(({ role, blocks, isCleared }) =>
    toMessages(role, isCleared ? { ...blocks, texts: [] } : blocks, { toolNames, changeRole }),
  );
  const first = readSystem(system);
  const all: readonly Message[] = first === "" ? turns : [{ role: "system", content: first }, ...turns];
  return {
    messages: arrangeSystemMessages(mergeTurns(all), chatTemplate),
    skippedBlocks: [...unknownTypes(system), ...read.flatMap(({ blocks }) => blocks.skipped)],
  };
}

function readMessage(
  { role, content }: WireMessage,
  context: Omit<ConversationContext, "chatTemplate"> & { readonly field: string },
): ReadBlocks {
  if (content === undefined && role !== "system") throw invalidField(context.field, "Field required");
  return readBlocks(content ?? "", context);
}

type TurnContext = {
  readonly toolNames: ReadonlyMap<string, string>;
  /** The role of messages about changed tools. They stay in place, so that the prompt before them stays cached. */
  readonly changeRole: "system" | "user";
};

function toMessages(
  role: WireMessage["role"],
  blocks: ReadBlocks,
  { toolNames, changeRole }: TurnContext,
): Message[] {
  switch (role) {
    case "system":
      return [
        { role, content: joinTexts(blocks.texts) },
        { role: changeRole, content: joinTexts(blocks.toolChanges) },
      ].filter(({ content }) => content !== "");
    case "assistant":
      return [assistantMessage(blocks)];
    case "user":
      return userMessages(blocks, toolNames);
  }
}

function userMessages(blocks: ReadBlocks, toolNames: ReadonlyMap<string, string>): Message[] {
  const { texts, images, toolResults, toolChanges } = blocks;
  const results = toolResults.map(({ toolCallId, content }): Message => {
    const toolName = toolNames.get(toolCallId);
    return { role: "tool", content, toolCallId, ...(toolName === undefined ? {} : { toolName }) };
  });
  const content = joinTexts([...texts, ...toolChanges]);
  const spoken: Message = { role: "user", content, ...(images.length === 0 ? {} : { images }) };
  const isEmpty = content === "" && images.length === 0;
  // Drop a turn that is empty because all its blocks are unknown or results; keep one that the client sent empty.
  return isEmpty && (results.length > 0 || blocks.skipped.length > 0) ? results : [...results, spoken];
}

/**
 * Claude Code starts its system prompt with a billing line that changes every turn. It means nothing to the model, and
 * a prompt with a different beginning each time would never hit the prompt cache.
 */
const billingHeader = /^x-anthropic-billing-header:(?:[^\S\n]*[\w-]+=[^;\n]*;)*\s*/u;

function readSystem(system: CountTokensBody["system"]): string {
  if (typeof system === "string") return system.replace(billingHeader, "");
  const texts = (system ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
  return joinTexts(texts.map((text) => text.replace(billingHeader, "")));
}

function unknownTypes(system: CountTokensBody["system"]): readonly string[] {
  const blocks = typeof system === "object" ? (system ?? []) : [];
  return blocks.flatMap(({ type }) => (type === "text" ? [] : [type]));
}

/** Groups runs first and joins each once: joining pair by pair would be quadratic in the length of the history. */
function mergeTurns(messages: readonly Message[]): readonly Message[] {
  const runs: [Message, ...Message[]][] = [];
  for (const message of messages) {
    const last = runs.at(-1);
    if (last !== undefined && message.role !== "tool" && last[0].role === message.role) last.push(message);
    else runs.push([message]);
  }
  return runs.map((run) => (run.length === 1 ? run[0] : mergeRun(run)));
}

function mergeRun(run: readonly [Message, ...Message[]]): Message {
  const [{ role }] = run;
  if (role === "assistant") return mergeAssistant(run.filter((message) => message.role === "assistant"));
  const content = joinTexts(run.map((message) => message.content ?? ""));
  const images = run.flatMap((message) => (message.role === "user" ? (message.images ?? []) : []));
  return role === "user"
    ? { role, content, ...(images.length === 0 ? {} : { images }) }
    : { role: "system", content };
}

type AssistantMessage = Extract<Message, { role: "assistant" }>;

function mergeAssistant(run: readonly AssistantMessage[]): AssistantMessage {
  return assistantMessage({
    texts: run.map(({ content }) => content ?? ""),
    thinking: run.map(({ reasoning = "" }) => reasoning),
    toolCalls: run.flatMap(({ toolCalls = [] }) => toolCalls),
  });
}

function assistantMessage({
  texts,
  thinking,
  toolCalls,
}: Pick<ReadBlocks, "texts" | "thinking" | "toolCalls">): AssistantMessage {
  const content = texts.join("");
  const reasoning = joinTexts(thinking);
  return {
    role: "assistant",
    content: content === "" && toolCalls.length > 0 ? null : content,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/**
 * System messages stay in place, so that the prompt before them is still in the cache. Templates that can raise an
 * exception may reject system messages after the first, so for those they are merged at the beginning.
 */
function arrangeSystemMessages(
  messages: readonly Message[],
  chatTemplate: string | null,
): readonly Message[] {
  if (!mayReject(chatTemplate)) return messages;
  const texts = messages.flatMap((message) => (message.role === "system" ? [message.content] : []));
  const turns = mergeTurns(messages.filter(({ role }) => role !== "system"));
  return texts.length === 0 ? turns : [{ role: "system", content: joinTexts(texts) }, ...turns];
}

function mayReject(chatTemplate: string | null): boolean {
  return chatTemplate?.includes("raise_exception") === true;
}
