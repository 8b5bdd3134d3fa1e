import type { Image, JsonObject, Message, ToolCall } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import { attachImages, omittedImageText, type ReadMessage } from "../../../images/attach-images.ts";
import {
  type ImageSource,
  type ImagesByField,
  imageAt,
  parseImageSource,
} from "../../../images/read-images.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";
import { parseArguments } from "../parse-arguments.ts";
import { requireCapability } from "../resolve-model.ts";
import type { WireMessage, WirePart } from "../schema.ts";

type MessagesContext = {
  readonly model: Pick<ModelDescription, "name" | "capabilities">;
  readonly images: ImagesByField;
};

/** Each wire message becomes one message, however many content parts it has; images of tool results follow in another. */
export function readMessages(messages: readonly WireMessage[], context: MessagesContext): readonly Message[] {
  // A tool result names only its call; some templates need the tool's name.
  const toolNames = new Map<string, string>();
  const read = messages.map((message, index) => {
    for (const call of message.tool_calls ?? []) toolNames.set(call.id ?? "", call.function.name);
    return readMessage(message, { field: `messages.${index}`, toolNames, ...context });
  });
  const hasToolImages = read.some(({ message, images = [] }) => message.role === "tool" && images.length > 0);
  return hasToolImages ? attachImages(read) : read.map(({ message }) => message);
}

/**
 * Every image of a request. Those of tool results only if the model can see them: an agent sends them again with every
 * request, so they must not fail it.
 */
export function imageSources(
  messages: readonly WireMessage[],
  { canSee }: { readonly canSee: boolean },
): readonly ImageSource[] {
  return messages.flatMap(({ role, content }, index) => {
    const parts = typeof content === "string" ? [] : (content ?? []);
    if (isToolResult(role) && !canSee) return [];
    return parts.flatMap(({ type, image_url: image }, part) => {
      if (type !== "image_url") return [];
      const field = `messages.${index}.content.${part}.image_url`;
      return [parseImageSource((typeof image === "string" ? image : image?.url) ?? "", field)];
    });
  });
}

export function hasFiles(messages: readonly WireMessage[]): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }: WirePart) => type === "file"),
  );
}

/** The types of the images in tool results, which a sentence replaces if the model cannot see them. */
export function resultImages(messages: readonly WireMessage[]): readonly string[] {
  const results = messages.filter(({ role }) => isToolResult(role));
  const types = results.flatMap(({ content }) =>
    typeof content === "string" ? [] : (content ?? []).map(({ type }) => type),
  );
  return types.filter((type) => type === "image_url");
}

type MessageContext = MessagesContext & {
  readonly field: string;
  readonly toolNames: ReadonlyMap<string, string>;
};

function isToolResult(role: string): boolean {
  return role === "tool" || role === "function";
}

function readMessage(message: WireMessage, context: MessageContext): ReadMessage {
  const { text, images } = readContent(message, context);
  if (images.length > 0 && message.role !== "user" && !isToolResult(message.role)) {
    throw invalidField(
      `${context.field}.content`,
      "contains an image; images are supported in user messages and tool results only",
    );
  }
  switch (message.role) {
    case "system":
    case "developer":
      return { message: { role: "system", content: text } };
    case "user":
      return { message: { role: "user", content: text, ...(images.length === 0 ? {} : { images }) } };
    case "assistant":
      return { message: readAssistant(message, text) };
    case "tool":
    case "function":
      return { message: readToolResult(message, text, context.toolNames), images };
    default:
      throw invalidField(`${context.field}.role`, `is "${message.role}", which is not a supported role`);
  }
}

type Content = { readonly text: string; readonly images: readonly Image[] };

function readContent({ role, content }: WireMessage, context: MessageContext): Content {
  if (typeof content === "string") return { text: content, images: [] };
  const texts: string[] = [];
  const images: Image[] = [];
  for (const [index, part] of (content ?? []).entries()) {
    const field = `${context.field}.content.${index}`;
    const isOmitted =
      isToolResult(role) && part.type === "image_url" && !context.images.has(`${field}.image_url`);
    const read = isOmitted ? omittedImageText : readPart(part, field, context);
    if (typeof read === "string") texts.push(read);
    else images.push(read);
  }
  return { text: texts.join("\n"), images };
}

function readPart(part: WirePart, field: string, { model, images }: MessagesContext): string | Image {
  switch (part.type) {
    case "text":
      return part.text ?? "";
    case "refusal":
      return part.refusal ?? "";
    case "image_url":
      return imageAt(images, `${field}.image_url`);
    case "input_audio":
      requireCapability(model, model.name, "audio");
      throw invalidField(`${field}.type`, 'is "input_audio", which is not supported yet');
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
