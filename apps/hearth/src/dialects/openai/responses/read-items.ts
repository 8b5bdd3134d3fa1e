import type { JsonObject, Message } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import { attachMedia, type ReadMessage } from "../../../images/attach-media.ts";
import type { ImageSource, ImagesByField } from "../../../images/read-images.ts";
import { parseArguments } from "../parse-arguments.ts";
import { replaceBySummary } from "./compaction.ts";
import { isUserMessage, type RepeatedContent } from "./history-images.ts";
import { type HistoryEntry, readHistoryItem } from "./history-items.ts";
import { contentImageSources, readContent, readRepeatedContent, readText } from "./read-content.ts";
import type { InputItem, OfferedTool } from "./schema.ts";
import { modelToolName, readTools } from "./tool-names.ts";

/** The items of the previous response, and those of the request itself. */
export type Items = { readonly previous: readonly InputItem[]; readonly own: readonly InputItem[] };

export type ReadItems = {
  readonly messages: readonly Message[];
  /** The types of items and content that the model does not see. */
  readonly skippedItems: readonly string[];
};

export type ReadItemsOptions = {
  readonly images: ImagesByField;
  /** Opens reasoning that this server sealed for the same key. */
  readonly openReasoning: (sealed: string) => string | undefined;
  /** Opens a summary that this server sealed for the same key. */
  readonly openSummary: (sealed: string) => string | undefined;
};

type AssistantMessage = Extract<Message, { role: "assistant" }>;

/**
 * Translates items to messages. One turn of a model is several items (reasoning, text, calls), but templates expect one
 * message per turn, so consecutive assistant items are merged.
 */
export function readItems({ previous, own }: Items, options: ReadItemsOptions): ReadItems {
  const items = [...previous, ...own];
  const start = startOfTurns(items);
  const newest = newestMessage({ previous, own });
  const callNames = new Map<string, string>();
  const skippedItems: string[] = [];
  let read: ReadMessage[] = [];
  for (const [index, item] of items.entries()) {
    const summary = openCompaction(item, options);
    if (summary !== undefined) {
      read = [...replaceBySummary(read, summary)];
      continue;
    }
    const place = { field: fieldOf(index, previous), isInitial: index < start, isNewest: index === newest };
    const messages = readItem(item, { ...options, ...place, callNames, skippedItems });
    if (messages === undefined) skippedItems.push(item.type ?? "message");
    for (const next of messages ?? []) {
      const last = read.at(-1)?.message;
      if (last?.role === "assistant" && next.message.role === "assistant")
        read.splice(-1, 1, { message: join(last, next.message) });
      else read.push(next);
    }
  }
  return { messages: attachMedia(read).map(withText), skippedItems };
}

/** The type of items of other servers is not checked, and neither are their fields. */
function openCompaction(item: InputItem, { openSummary }: ReadItemsOptions): string | undefined {
  const { type, encrypted_content: sealed } = item;
  return type === "compaction" && typeof sealed === "string" ? openSummary(sealed) : undefined;
}

/** The index of the user's newest message, if this request brings it; the others were in earlier requests. */
function newestMessage({ previous, own }: Items): number | undefined {
  const index = own.findLastIndex(isUserMessage);
  return index === -1 ? undefined : previous.length + index;
}

/** Every image in the user's newest message. */
export function newestImageSources({ previous, own }: Items): readonly ImageSource[] {
  const newest = newestMessage({ previous, own });
  if (newest === undefined) return [];
  const content = own[newest - previous.length]?.content;
  return contentImageSources(content, `${fieldOf(newest, previous)}.content`);
}

/** What a client sends again with every request, and what may contain images: output of tools, and earlier messages. */
export function repeatedContents({ previous, own }: Items): readonly RepeatedContent[] {
  const newest = newestMessage({ previous, own });
  return [...previous, ...own].flatMap((item, index): readonly RepeatedContent[] => {
    const field = fieldOf(index, previous);
    const output = { field: `${field}.output`, allowsUrls: false };
    if (index !== newest && isUserMessage(item))
      return [{ content: item.content, field: `${field}.content`, allowsUrls: true }];
    if (isResult(item)) return [{ content: item.output, ...output }];
    const entries = readHistoryItem(item) ?? [];
    return entries.flatMap((entry) =>
      entry.type === "result" ? [{ content: entry.output, ...output }] : [],
    );
  });
}

export type IntroducedTools = {
  /** Before the first turn, where every later request has them too. */
  readonly initial: readonly OfferedTool[];
  readonly later: readonly OfferedTool[];
};

/** Tools that the conversation introduces, e.g. as the result of a search for tools. */
export function introducedTools({ previous, own }: Items): IntroducedTools {
  const items = [...previous, ...own];
  const start = startOfTurns(items);
  return { initial: toolsOf(items.slice(0, start)), later: toolsOf(items.slice(start)) };
}

/** Other items with tools, such as lists of an MCP server, are not checked by the schema. */
function toolsOf(items: readonly InputItem[]): readonly OfferedTool[] {
  const introducing = items.filter(
    ({ type }) => type === "additional_tools" || type === "tool_search_output",
  );
  return introducing.flatMap(({ tools }) => tools ?? []);
}

function startOfTurns(items: readonly InputItem[]): number {
  const first = items.findIndex(
    ({ type, role }) => type !== "additional_tools" && role !== "system" && role !== "developer",
  );
  return first === -1 ? items.length : first;
}

function isResult({ type }: InputItem): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}

/** Items of the previous response come before `input.0`, at negative indexes. */
function fieldOf(index: number, previous: Items["previous"]): string {
  return `input.${index - previous.length}`;
}

type ItemContext = ReadItemsOptions & {
  readonly field: string;
  /** Before the first turn. */
  readonly isInitial: boolean;
  /** The user's newest message. */
  readonly isNewest: boolean;
  /** The names of the calls so far, by their ids; some templates need the name at the result. */
  readonly callNames: Map<string, string>;
  /** Gets the types of content that a sentence replaces. */
  readonly skippedItems: string[];
};

/** Undefined for an item that has no meaning to a model. */
function readItem(item: InputItem, context: ItemContext): readonly ReadMessage[] | undefined {
  switch (item.type ?? "message") {
    case "message":
      return [{ message: readMessage(item, context) }];
    case "reasoning":
      return [{ message: { role: "assistant", content: null, reasoning: readReasoning(item, context) } }];
    case "function_call":
      return [readCall(item, readArguments(item.arguments ?? ""), context)];
    case "custom_tool_call":
      return [readCall(item, { input: item.input ?? "" }, context)];
    case "function_call_output":
    case "custom_tool_call_output":
      return [readResult(item, context)];
    case "additional_tools":
      return context.isInitial ? [] : [{ message: readAddedTools(item) }];
    case "tool_search_output":
      return [readFoundTools(item, context)];
    default:
      return readHistoryItem(item)?.map((entry) => readEntry(entry, context));
  }
}

function readMessage({ role, content }: InputItem, context: ItemContext): Message {
  const { field, isNewest } = context;
  const inside = `${field}.content`;
  switch (role ?? "") {
    case "user": {
      // A person reads the error about a new message; an agent sends the earlier ones again whatever the error is.
      const { text, images } = isNewest
        ? readContent(content, inside, context.images)
        : readRepeatedContent(content, inside, context);
      return { role: "user", content: text, ...(images.length === 0 ? {} : { images }) };
    }
    case "assistant":
      return { role: "assistant", content: readText(content, inside) };
    case "system":
    case "developer":
      return { role: "system", content: readText(content, inside) };
    default:
      throw invalidField(`${field}.role`, 'must be "user", "assistant", "system" or "developer"');
  }
}

/** The complete reasoning if present, its summary otherwise. Foreign sealed reasoning cannot be read. */
function readReasoning(item: InputItem, { field, openReasoning }: ItemContext): string {
  const { content, summary, encrypted_content: sealed } = item;
  const opened = typeof sealed === "string" ? openReasoning(sealed) : undefined;
  if (opened !== undefined) return opened;
  const complete = readText(content, `${field}.content`);
  return complete === "" ? readText(summary, `${field}.summary`) : complete;
}

function readCall(item: InputItem, written: JsonObject, context: ItemContext): ReadMessage {
  const callId = required(item.call_id, `${context.field}.call_id`);
  const name = required(item.name, `${context.field}.name`);
  const namespaced = typeof item.namespace === "string" ? { namespace: item.namespace } : {};
  const modelName = modelToolName({ name, ...namespaced });
  return readEntry({ type: "call", callId, name: modelName, arguments: written }, context);
}

function readArguments(text: string): JsonObject {
  return text.trim() === "" ? {} : parseArguments(text);
}

/** The result of a call that the client made itself has a name instead of an id. */
function readResult(item: InputItem, context: ItemContext): ReadMessage {
  const callId = required((item.call_id ?? "") || item.name, `${context.field}.call_id`);
  if (typeof item.name === "string" && !context.callNames.has(callId))
    context.callNames.set(callId, item.name);
  return readEntry({ type: "result", callId, output: item.output }, context);
}

/** Many templates drop or reject a system message that is not the first. */
function readAddedTools({ tools }: InputItem): Message {
  const content = ["These tools are available from now on:", ...describeTools(tools)].join("\n");
  return { role: "user", content };
}

function readFoundTools({ call_id: callId, tools }: InputItem, context: ItemContext): ReadMessage {
  const described = describeTools(tools);
  const output = described.length === 0 ? "No tools found" : ["Tools found:", ...described].join("\n");
  return readEntry({ type: "result", callId: callId ?? "", output }, context);
}

/** One line for each, because the list at the beginning of the prompt does not contain them. */
function describeTools(tools: InputItem["tools"]): readonly string[] {
  return readTools(tools ?? []).tools.map(({ name, description, parameters }) =>
    JSON.stringify({ name, description, parameters }),
  );
}

function readEntry(entry: HistoryEntry, context: ItemContext): ReadMessage {
  const { field, callNames } = context;
  switch (entry.type) {
    case "text":
      return { message: { role: "assistant", content: entry.text } };
    case "call": {
      const { callId: id, name, arguments: written } = entry;
      callNames.set(id, name);
      const toolCalls = [{ id, name, arguments: written }];
      return { message: { role: "assistant", content: null, toolCalls } };
    }
    case "result": {
      const { callId: toolCallId, output } = entry;
      const toolName = callNames.get(toolCallId);
      const { text, images } = readRepeatedContent(output, `${field}.output`, context);
      const named = toolName === undefined ? {} : { toolName };
      return { message: { role: "tool", content: text, toolCallId, ...named }, images };
    }
  }
}

function required(value: string | null | undefined, field: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalidField(field, "is missing");
}

function join(first: AssistantMessage, second: AssistantMessage): AssistantMessage {
  const content = joinTexts(first.content, second.content);
  const reasoning = joinTexts(first.reasoning, second.reasoning);
  const toolCalls = [...(first.toolCalls ?? []), ...(second.toolCalls ?? [])];
  return {
    role: "assistant",
    content,
    ...(reasoning === null ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function joinTexts(first: string | null | undefined, second: string | null | undefined): string | null {
  const texts = [first, second].filter((text) => typeof text === "string");
  return texts.length === 0 ? null : texts.join("\n");
}

/** Content is null only in messages with tool calls. */
function withText(message: Message): Message {
  if (message.role !== "assistant" || message.content !== null || message.toolCalls !== undefined)
    return message;
  return { ...message, content: "" };
}
