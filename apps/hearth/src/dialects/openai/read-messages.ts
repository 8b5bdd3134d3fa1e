import type { Image, JsonObject, Message, ToolCall } from "@hearth-and-keep/engine";
import { requestFailure } from "../../failures.ts";
import { type ImageSource, type ImagesByPlace, imageAt, sourceOf } from "../../images/read-images.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";
import { requireCapability } from "./require-model.ts";
import type { WireMessage, WirePart } from "./schema.ts";

type MessagesParts = {
  readonly model: Pick<ModelDescription, "name" | "capabilities">;
  readonly images: ImagesByPlace;
};

/** One message stays one message, however many parts it has. */
export function readMessages(messages: readonly WireMessage[], parts: MessagesParts): readonly Message[] {
  // A result names only the call; some templates want the tool's name.
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => {
    for (const call of message.tool_calls ?? []) toolNames.set(call.id ?? "", call.function.name);
    return readMessage(message, { place: `messages.${index}`, toolNames, ...parts });
  });
}

/** Where the images of a request are, before any of them is read. */
export function imageSources(messages: readonly WireMessage[]): readonly ImageSource[] {
  return messages.flatMap(({ content }, index) => {
    const parts = typeof content === "string" ? [] : (content ?? []);
    return parts.flatMap(({ type, image_url: image }, part) => {
      if (type !== "image_url") return [];
      const place = `messages.${index}.content.${part}.image_url`;
      return [sourceOf((typeof image === "string" ? image : image?.url) ?? "", place)];
    });
  });
}

type MessageContext = MessagesParts & {
  readonly place: string;
  readonly toolNames: ReadonlyMap<string, string>;
};

function readMessage(message: WireMessage, context: MessageContext): Message {
  const { text, images } = readContent(message, context);
  if (images.length > 0 && message.role !== "user") {
    throw invalid(`${context.place}.content`, "holds an image, which belongs into a user's message");
  }
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: text };
    case "user":
      return { role: "user", content: text, ...(images.length === 0 ? {} : { images }) };
    case "assistant":
      return readAssistant(message, text);
    case "tool":
    case "function":
      return readResult(message, text, context.toolNames);
    default:
      throw invalid(`${context.place}.role`, `is "${message.role}", which this server does not know`);
  }
}

type Content = { readonly text: string; readonly images: readonly Image[] };

function readContent({ content }: WireMessage, context: MessageContext): Content {
  if (typeof content === "string") return { text: content, images: [] };
  const texts: string[] = [];
  const images: Image[] = [];
  for (const [index, part] of (content ?? []).entries()) {
    const read = readPart(part, `${context.place}.content.${index}`, context);
    if (typeof read === "string") texts.push(read);
    else images.push(read);
  }
  return { text: texts.join("\n"), images };
}

function readPart(part: WirePart, place: string, { model, images }: MessagesParts): string | Image {
  switch (part.type) {
    case "text":
      return part.text ?? "";
    case "refusal":
      return part.refusal ?? "";
    case "image_url":
      return imageAt(images, `${place}.image_url`);
    case "input_audio":
      requireCapability(model, model.name, "audio");
      throw invalid(`${place}.type`, 'is "input_audio", which this server does not read yet');
    default:
      throw invalid(`${place}.type`, `is "${part.type}", which this server does not know`);
  }
}

function readAssistant(message: WireMessage, text: string): Message {
  const toolCalls = (message.tool_calls ?? []).map(
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

/** This family takes any text here: an agent shows its model a call that was none, so that it tries again. */
function readArguments(written: string | Readonly<Record<string, unknown>> | null | undefined): JsonObject {
  if (written === undefined || written === null || written === "") return {};
  // Came as JSON with the body.
  if (typeof written !== "string") return written as JsonObject;
  const parsed = parse(written);
  const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  // What JSON.parse gives is of no other kind.
  return isObject ? (parsed as JsonObject) : { malformed: written };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readResult(message: WireMessage, text: string, toolNames: ReadonlyMap<string, string>): Message {
  const id = message.tool_call_id ?? undefined;
  const toolName = message.name ?? toolNames.get(id ?? "");
  return {
    role: "tool",
    content: text,
    ...(id === undefined ? {} : { toolCallId: id }),
    ...(toolName === undefined ? {} : { toolName }),
  };
}

function invalid(place: string, reason: string) {
  return requestFailure({ kind: "request-invalid", place, reason });
}
