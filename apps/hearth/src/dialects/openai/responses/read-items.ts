import type { JsonObject, Message } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import type { ImageSource, ImagesByField } from "../../../images/read-images.ts";
import { parseArguments } from "../parse-arguments.ts";
import { contentImageSources, readContent, readText } from "./read-content.ts";
import type { InputItem } from "./schema.ts";
import { modelToolName } from "./tool-names.ts";

/** The items of the previous response, and those of the request itself. */
export type Items = { readonly previous: readonly InputItem[]; readonly own: readonly InputItem[] };

type AssistantMessage = Extract<Message, { role: "assistant" }>;

/**
 * Translates items to messages. One turn of a model is several items (reasoning, text, calls), but templates expect one
 * message per turn, so consecutive assistant items are merged.
 */
export function readItems({ previous, own }: Items, images: ImagesByField): readonly Message[] {
  const items = [...previous, ...own];
  const callNames = new Map(items.flatMap((item) => (item.type === "function_call" ? [callName(item)] : [])));
  const messages: Message[] = [];
  for (const [index, item] of items.entries()) {
    const message = readItem(item, fieldOf(index, previous), { callNames, images });
    const last = messages.at(-1);
    if (last?.role === "assistant" && message.role === "assistant")
      messages.splice(-1, 1, join(last, message));
    else messages.push(message);
  }
  return messages.map(withText);
}

/** Every image in the user messages. */
export function imageSources({ previous, own }: Items): readonly ImageSource[] {
  return [...previous, ...own].flatMap(({ role, content }, index) =>
    role === "user" ? contentImageSources(content, `${fieldOf(index, previous)}.content`) : [],
  );
}

/** Items of the previous response come before `input.0`, at negative indexes. */
function fieldOf(index: number, previous: Items["previous"]): string {
  return `input.${index - previous.length}`;
}

type ItemContext = { readonly callNames: ReadonlyMap<string, string>; readonly images: ImagesByField };

function callName({ call_id: id, name, namespace }: InputItem): [string, string] {
  const namespaced = typeof namespace === "string" ? { namespace } : {};
  return [id ?? "", modelToolName({ name: name ?? "", ...namespaced })];
}

function readItem(item: InputItem, field: string, { callNames, images }: ItemContext): Message {
  const { type } = item;
  switch (type ?? "message") {
    case "message":
      return readMessage(item, field, images);
    case "reasoning":
      return { role: "assistant", content: null, reasoning: readReasoning(item, field) };
    case "function_call":
      return readCall(item, field);
    case "function_call_output": {
      const toolCallId = required(item.call_id, `${field}.call_id`);
      const toolName = callNames.get(toolCallId);
      const content = readText(item.output, `${field}.output`);
      return { role: "tool", content, toolCallId, ...(toolName === undefined ? {} : { toolName }) };
    }
    case "item_reference":
      throw invalidField(
        `${field}.type`,
        'is "item_reference", which is not supported; send the complete item',
      );
    default:
      throw invalidField(`${field}.type`, `is "${type}", which is not a supported item type`);
  }
}

function readMessage({ role, content }: InputItem, field: string, allImages: ImagesByField): Message {
  const inside = `${field}.content`;
  switch (role ?? "") {
    case "user": {
      const { text, images } = readContent(content, inside, allImages);
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

/** The complete reasoning if present, its summary otherwise. */
function readReasoning({ content, summary }: InputItem, field: string): string {
  const complete = readText(content, `${field}.content`);
  return complete === "" ? readText(summary, `${field}.summary`) : complete;
}

function readCall(item: InputItem, field: string): Message {
  const id = required(item.call_id, `${field}.call_id`);
  required(item.name, `${field}.name`);
  const [, name] = callName(item);
  const call = { id, name, arguments: readArguments(item.arguments ?? "") };
  return { role: "assistant", content: null, toolCalls: [call] };
}

function readArguments(text: string): JsonObject {
  return text.trim() === "" ? {} : parseArguments(text);
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
