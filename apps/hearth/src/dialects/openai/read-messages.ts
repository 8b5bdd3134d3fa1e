import type { Image, JsonObject, Message, ToolCall } from "@hearth-and-keep/llama-engine";
import { requestFailure } from "../../failures.ts";
import type { ModelDescription } from "../../models/describing/describe-model.ts";
import { requireCapability } from "./describe-for.ts";
import type { WireMessage, WirePart } from "./schema.ts";

/** One message stays one message, however many parts it has. */
export function readMessages(
  messages: readonly WireMessage[],
  model: Pick<ModelDescription, "name" | "capabilities">,
): readonly Message[] {
  // A result names only the call; some templates want the tool's name.
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => {
    for (const call of message.tool_calls ?? []) toolNames.set(call.id ?? "", call.function.name);
    return readMessage(message, { place: `messages.${index}`, model, toolNames });
  });
}

type MessageContext = {
  readonly place: string;
  readonly model: Pick<ModelDescription, "name" | "capabilities">;
  readonly toolNames: ReadonlyMap<string, string>;
};

function readMessage(message: WireMessage, context: MessageContext): Message {
  const { text, images } = readContent(message, context);
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

function readContent({ content }: WireMessage, { place, model }: MessageContext): Content {
  if (typeof content === "string") return { text: content, images: [] };
  const texts: string[] = [];
  const images: Image[] = [];
  for (const [index, part] of (content ?? []).entries()) {
    const read = readPart(part, `${place}.content.${index}`, model);
    if (typeof read === "string") texts.push(read);
    else images.push(read);
  }
  return { text: texts.join("\n"), images };
}

function readPart(
  part: WirePart,
  place: string,
  model: Pick<ModelDescription, "name" | "capabilities">,
): string | Image {
  switch (part.type) {
    case "text":
      return part.text ?? "";
    case "refusal":
      return part.refusal ?? "";
    case "image_url": {
      requireCapability(model, model.name, "vision");
      const url = typeof part.image_url === "string" ? part.image_url : part.image_url?.url;
      return readImage(url ?? "", `${place}.image_url`);
    }
    case "input_audio":
      requireCapability(model, model.name, "audio");
      throw invalid(`${place}.type`, 'is "input_audio", which this server does not read yet');
    default:
      throw invalid(`${place}.type`, `is "${part.type}", which this server does not know`);
  }
}

/** What comes before the bytes is short; the rest is not searched. */
const longestImageHead = 64;

function readImage(url: string, place: string): Image {
  const head = /^data:(?<mediaType>image\/[a-z0-9.+-]{1,32});base64,/u.exec(url.slice(0, longestImageHead));
  const mediaType = head?.groups?.["mediaType"];
  if (head === null || mediaType === undefined) {
    throw invalid(place, 'must be a "data:image/…;base64," URL; this server fetches no addresses');
  }
  const bytes = Buffer.from(url.slice(head[0].length), "base64");
  if (bytes.length === 0) throw invalid(place, "holds no image");
  return { bytes, mediaType };
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
