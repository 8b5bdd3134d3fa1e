import type { JsonObject, Message } from "@hearth-and-keep/engine";
import type { ImageSource, ImagesByPlace } from "../../../images/read-images.ts";
import { invalid } from "./invalid.ts";
import { contentImageSources, readContent, readText } from "./read-content.ts";
import type { InputItem } from "./schema.ts";
import { shownNameOf } from "./tool-names.ts";

/** What a kept response brings along, and what the request itself says. */
export type Items = { readonly earlier: readonly InputItem[]; readonly own: readonly InputItem[] };

type AssistantMessage = Extract<Message, { role: "assistant" }>;

/**
 * Items as messages. What a model said in one turn comes as several items, thoughts, texts and calls; templates know
 * it as one message, so neighbours of the assistant become one.
 */
export function readItems({ earlier, own }: Items, images: ImagesByPlace): readonly Message[] {
  const items = [...earlier, ...own];
  const callNames = new Map(items.flatMap((item) => (item.type === "function_call" ? [callName(item)] : [])));
  const messages: Message[] = [];
  for (const [index, item] of items.entries()) {
    const message = readItem(item, placeOf(index, earlier), { callNames, images });
    const last = messages.at(-1);
    if (last?.role === "assistant" && message.role === "assistant")
      messages.splice(-1, 1, join(last, message));
    else messages.push(message);
  }
  return messages.map(withText);
}

/** Where the images of user's messages are, before any of them is read. */
export function imageSources({ earlier, own }: Items): readonly ImageSource[] {
  return [...earlier, ...own].flatMap(({ role, content }, index) =>
    role === "user" ? contentImageSources(content, `${placeOf(index, earlier)}.content`) : [],
  );
}

/** What came earlier stands before the beginning of what was sent. */
function placeOf(index: number, earlier: Items["earlier"]): string {
  return `input.${index - earlier.length}`;
}

type ItemParts = { readonly callNames: ReadonlyMap<string, string>; readonly images: ImagesByPlace };

function callName({ call_id: id, name, namespace }: InputItem): [string, string] {
  const ofNamespace = typeof namespace === "string" ? { namespace } : {};
  return [id ?? "", shownNameOf({ name: name ?? "", ...ofNamespace })];
}

function readItem(item: InputItem, place: string, { callNames, images }: ItemParts): Message {
  const { type } = item;
  switch (type ?? "message") {
    case "message":
      return readMessage(item, place, images);
    case "reasoning":
      return { role: "assistant", content: null, reasoning: readThoughts(item, place) };
    case "function_call":
      return readCall(item, place);
    case "function_call_output": {
      const toolCallId = required(item.call_id, `${place}.call_id`);
      const toolName = callNames.get(toolCallId);
      const content = readText(item.output, `${place}.output`);
      return { role: "tool", content, toolCallId, ...(toolName === undefined ? {} : { toolName }) };
    }
    case "item_reference":
      throw invalid(`${place}.type`, 'cannot be "item_reference": items are not kept, send them whole');
    default:
      throw invalid(`${place}.type`, `names no item that can be read: "${type}"`);
  }
}

function readMessage({ role, content }: InputItem, place: string, allImages: ImagesByPlace): Message {
  const inside = `${place}.content`;
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
      throw invalid(`${place}.role`, 'must be "user", "assistant", "system" or "developer"');
  }
}

/** The whole thinking when it is there, its summary otherwise. */
function readThoughts({ content, summary }: InputItem, place: string): string {
  const whole = readText(content, `${place}.content`);
  return whole === "" ? readText(summary, `${place}.summary`) : whole;
}

function readCall(item: InputItem, place: string): Message {
  const id = required(item.call_id, `${place}.call_id`);
  required(item.name, `${place}.name`);
  const [, name] = callName(item);
  const call = { id, name, arguments: readArguments(item.arguments ?? "") };
  return { role: "assistant", content: null, toolCalls: [call] };
}

/** A call that a model wrote badly is shown to it as it was written, so that it tries again. */
function readArguments(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    // An object that was parsed from JSON holds nothing but JSON.
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed as JsonObject;
  } catch {
    // Told apart from an object below.
  }
  return { malformed: text };
}

function required(value: string | null | undefined, place: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(place, "is missing");
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

/** Only a turn of calls has no text. */
function withText(message: Message): Message {
  if (message.role !== "assistant" || message.content !== null || message.toolCalls !== undefined)
    return message;
  return { ...message, content: "" };
}
