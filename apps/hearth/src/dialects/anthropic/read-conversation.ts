import type { Message } from "@hearth-and-keep/engine";
import type { ImagesByPlace } from "../../images/read-images.ts";
import { joinTexts, type ReadBlocks, readBlocks } from "./read-blocks.ts";
import type { CountTokensBody } from "./schema.ts";

export type ReadConversation = { readonly messages: readonly Message[]; readonly skippedBlocks: number };

type WireMessage = CountTokensBody["messages"][number];

/**
 * The turns of a request in our words. Neighbours of one role become one turn, results of tools stand before what
 * the user says beside them, and system messages among the turns are system messages.
 */
export function readConversation(
  { system, messages }: Pick<CountTokensBody, "system" | "messages">,
  { chatTemplate, images }: { readonly chatTemplate: string | null; readonly images: ImagesByPlace },
): ReadConversation {
  const read = messages.map(({ role, content }, index) => ({
    role,
    blocks: readBlocks(content, { place: `messages.${index}.content`, images }),
  }));
  const toolNames = new Map(read.flatMap(({ blocks }) => blocks.toolCalls.map(({ id, name }) => [id, name])));
  const turns = read.flatMap(({ role, blocks }) => toMessages(role, blocks, toolNames));
  const first = readSystem(system);
  const all: readonly Message[] = first === "" ? turns : [{ role: "system", content: first }, ...turns];
  return {
    messages: placeSystem(mergeTurns(all), chatTemplate),
    skippedBlocks: read.reduce((sum, { blocks }) => sum + blocks.skipped, 0),
  };
}

function toMessages(
  role: WireMessage["role"],
  blocks: ReadBlocks,
  toolNames: ReadonlyMap<string, string>,
): Message[] {
  const { texts, images, toolResults } = blocks;
  switch (role) {
    case "system":
      return [{ role, content: joinTexts(texts) }];
    case "assistant":
      return [assistantMessage(blocks)];
    case "user": {
      const results = toolResults.map(({ toolCallId, content }): Message => {
        const toolName = toolNames.get(toolCallId);
        return { role: "tool", content, toolCallId, ...(toolName === undefined ? {} : { toolName }) };
      });
      const said: Message = { role, content: joinTexts(texts), ...(images.length === 0 ? {} : { images }) };
      const isSilent = said.content === "" && images.length === 0;
      // A turn of unknown blocks alone is none; one that is empty by itself is the caller's wish.
      return isSilent && (results.length > 0 || blocks.skipped > 0) ? results : [...results, said];
    }
  }
}

/**
 * Claude Code opens its system text with a line for the invoice whose value changes from turn to turn. The model has
 * no use for it, and a prompt that begins differently each time is never found in the cache.
 */
const billingHeader = /^x-anthropic-billing-header:(?:[^\S\n]*[\w-]+=[^;\n]*;)*\s*/u;

function readSystem(system: CountTokensBody["system"]): string {
  if (typeof system === "string") return system.replace(billingHeader, "");
  return joinTexts((system ?? []).map(({ text }) => text.replace(billingHeader, "")));
}

/** Runs are found first and joined once: joining pair by pair would take the square of a long history's time. */
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
    thoughts: run.map(({ reasoning = "" }) => reasoning),
    toolCalls: run.flatMap(({ toolCalls = [] }) => toolCalls),
  });
}

function assistantMessage({
  texts,
  thoughts,
  toolCalls,
}: Pick<ReadBlocks, "texts" | "thoughts" | "toolCalls">): AssistantMessage {
  const content = texts.join("");
  const reasoning = joinTexts(thoughts);
  return {
    role: "assistant",
    content: content === "" && toolCalls.length > 0 ? null : content,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/**
 * A system message stays where it is, so that what came before it is still found in the cache. A template that
 * refuses anything might refuse just that, so its system messages are put together at the beginning.
 */
function placeSystem(messages: readonly Message[], chatTemplate: string | null): readonly Message[] {
  if (chatTemplate?.includes("raise_exception") !== true) return messages;
  const texts = messages.flatMap((message) => (message.role === "system" ? [message.content] : []));
  const turns = mergeTurns(messages.filter(({ role }) => role !== "system"));
  return texts.length === 0 ? turns : [{ role: "system", content: joinTexts(texts) }, ...turns];
}
