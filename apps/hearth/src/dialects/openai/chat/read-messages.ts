import type { AudioClip, Image, JsonObject, Message, ToolCall } from "@hearth-and-keep/engine";
import { type AudioByField, type AudioSource, audioAt } from "../../../audio/read-audio.ts";
import { invalidField } from "../../../failures.ts";
import {
  attachMedia,
  omittedAudioText,
  omittedImageText,
  type ReadMessage,
} from "../../../images/attach-media.ts";
import {
  type ImageSource,
  type ImagesByField,
  imageAt,
  parseImageSource,
} from "../../../images/read-images.ts";
import { parseArguments } from "../parse-arguments.ts";
import type { WireMessage, WirePart } from "../schema.ts";

type MessagesContext = { readonly images: ImagesByField; readonly audio: AudioByField };

/** Each wire message becomes one message, however many content parts it has; media of tool results follow in another. */
export function readMessages(messages: readonly WireMessage[], context: MessagesContext): readonly Message[] {
  // A tool result names only its call; some templates need the tool's name.
  const toolNames = new Map<string, string>();
  const isRepeated = findRepeated(messages);
  const read = messages.map((message, index) => {
    for (const call of message.tool_calls ?? []) toolNames.set(call.id ?? "", call.function.name);
    const field = `messages.${index}`;
    return readMessage(message, { field, isRepeated: isRepeated(message, index), toolNames, ...context });
  });
  const hasToolMedia = read.some(
    ({ message, images = [], audio = [] }) => message.role === "tool" && images.length + audio.length > 0,
  );
  return hasToolMedia ? attachMedia(read) : read.map(({ message }) => message);
}

/** What a model can be shown besides text, by the type of the content part. */
export type PartSupport = { readonly image_url: boolean; readonly input_audio: boolean };

export function imageSources(messages: readonly WireMessage[], support: PartSupport): readonly ImageSource[] {
  return findParts(messages, "image_url", support).map(({ part: { image_url: image }, field }) =>
    parseImageSource((typeof image === "string" ? image : image?.url) ?? "", field),
  );
}

export function audioSources(messages: readonly WireMessage[], support: PartSupport): readonly AudioSource[] {
  return findParts(messages, "input_audio", support).map(({ part: { input_audio: audio }, field }) => ({
    field,
    base64: audio?.data ?? "",
    format: audio?.format ?? undefined,
  }));
}

type FoundPart = { readonly part: WirePart; readonly field: string };

/** Every part of a type; those that clients repeat only if the model can be shown them. */
function findParts(
  messages: readonly WireMessage[],
  type: keyof PartSupport,
  support: PartSupport,
): readonly FoundPart[] {
  const isRepeated = findRepeated(messages);
  return messages.flatMap((message, index) => {
    const { content } = message;
    if (typeof content === "string" || (!support[type] && isRepeated(message, index))) return [];
    return (content ?? []).flatMap((part, position) =>
      part.type === type ? [{ part, field: `messages.${index}.content.${position}.${type}` }] : [],
    );
  });
}

export function hasFiles(messages: readonly WireMessage[]): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }: WirePart) => type === "file"),
  );
}

/** The types of the repeated media that a sentence replaces, because the model cannot be shown them. */
export function omittedTypes(messages: readonly WireMessage[], support: PartSupport): readonly string[] {
  const types = messages
    .filter(findRepeated(messages))
    .flatMap(({ content }) => (typeof content === "string" ? [] : (content ?? []).map(({ type }) => type)));
  return types.filter((type) => isMediaType(type) && !support[type]);
}

function isMediaType(type: string): type is keyof PartSupport {
  return type === "image_url" || type === "input_audio";
}

type MessageContext = MessagesContext & {
  readonly field: string;
  readonly isRepeated: boolean;
  readonly toolNames: ReadonlyMap<string, string>;
};

/**
 * Tells tool results and messages that the model has answered from new ones. Clients send them again with every request,
 * so what the model cannot be shown must not fail them: it would end the conversation.
 */
function findRepeated(messages: readonly WireMessage[]): (message: WireMessage, index: number) => boolean {
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  return ({ role }, index) => isToolResult(role) || index < lastAnswer;
}

function isToolResult(role: string): boolean {
  return role === "tool" || role === "function";
}

function readMessage(message: WireMessage, context: MessageContext): ReadMessage {
  const { text, images, audio } = readContent(message, context);
  if (images.length + audio.length > 0 && message.role !== "user" && !isToolResult(message.role)) {
    throw invalidField(
      `${context.field}.content`,
      "contains an image or audio, which are supported in user messages and tool results only",
    );
  }
  switch (message.role) {
    case "system":
    case "developer":
      return { message: { role: "system", content: text } };
    case "user":
      return { message: readUser({ text, images, audio }) };
    case "assistant":
      return { message: readAssistant(message, text) };
    case "tool":
    case "function":
      return { message: readToolResult(message, text, context.toolNames), images, audio };
    default:
      throw invalidField(`${context.field}.role`, `is "${message.role}", which is not a supported role`);
  }
}

type Content = {
  readonly text: string;
  readonly images: readonly Image[];
  readonly audio: readonly AudioClip[];
};

function readUser({ text, images, audio }: Content): Message {
  return {
    role: "user",
    content: text,
    ...(images.length === 0 ? {} : { images }),
    ...(audio.length === 0 ? {} : { audio }),
  };
}

function readContent({ content }: WireMessage, context: MessageContext): Content {
  if (typeof content === "string") return { text: content, images: [], audio: [] };
  const texts: string[] = [];
  const images: Image[] = [];
  const audio: AudioClip[] = [];
  for (const [index, part] of (content ?? []).entries()) {
    const read = readPart(part, `${context.field}.content.${index}`, context);
    if (typeof read === "string") texts.push(read);
    else if ("seconds" in read) audio.push(read);
    else images.push(read);
  }
  return { text: texts.join("\n"), images, audio };
}

function readPart(
  part: WirePart,
  field: string,
  { images, audio, isRepeated }: MessageContext,
): string | Image | AudioClip {
  switch (part.type) {
    case "text":
      return part.text ?? "";
    case "refusal":
      return part.refusal ?? "";
    case "image_url":
      if (isRepeated && !images.has(`${field}.image_url`)) return omittedImageText;
      return imageAt(images, `${field}.image_url`);
    case "input_audio":
      if (isRepeated && !audio.has(`${field}.input_audio`)) return omittedAudioText;
      return audioAt(audio, `${field}.input_audio`);
    default:
      throw invalidField(`${field}.type`, `is "${part.type}", which is not a supported content type`);
  }
}

function readAssistant(message: WireMessage, text: string): Message {
  const { tool_calls: calls, function_call: only } = message;
  const toolCalls = (calls ?? (only ? [{ id: null, function: only }] : [])).map(
    ({ id, function: { name, arguments: written } }, index): ToolCall => ({
      id: id ?? `call_${index}`,
      name,
      arguments: readArguments(written),
    }),
  );
  const reasoning = message.reasoning_content ?? message.reasoning ?? message.thinking;
  return {
    role: "assistant",
    content: text === "" && toolCalls.length > 0 ? null : text || (message.refusal ?? ""),
    ...(typeof reasoning === "string" && reasoning !== "" ? { reasoning } : {}),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function readArguments(written: string | Readonly<Record<string, unknown>> | null | undefined): JsonObject {
  if (written === undefined || written === null || written === "") return {};
  // Part of the parsed JSON body.
  if (typeof written !== "string") return written as JsonObject;
  return parseArguments(written);
}

function readToolResult(message: WireMessage, text: string, toolNames: ReadonlyMap<string, string>): Message {
  const id = message.tool_call_id ?? undefined;
  const toolName = message.name ?? toolNames.get(id ?? "");
  return {
    role: "tool",
    content: text,
    ...(id === undefined ? {} : { toolCallId: id }),
    ...(toolName === undefined ? {} : { toolName }),
  };
}
