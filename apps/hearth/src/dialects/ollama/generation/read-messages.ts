import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import type { JsonObject, Message, Tool, ToolCall } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";
import { attachMedia, type ReadMessage } from "../../../images/attach-media.ts";
import { type ImagesByField, imageAt } from "../../../images/read-images.ts";
import type { ChatMessage, ChatTool } from "../schema.ts";

/** Each wire message becomes one message; images of tool results follow in another. */
export function readMessages(
  messages: readonly ChatMessage[],
  images: ImagesByField = new Map(),
): readonly Message[] {
  return attachMedia(messages.map((message, index) => readMessage(message, `messages.${index}`, images)));
}

function readMessage(message: ChatMessage, field: string, allImages: ImagesByField): ReadMessage {
  const content = message.content ?? "";
  const images = (message.images ?? []).map((_, index) => imageAt(allImages, `${field}.images.${index}`));
  const role = message.role.toLowerCase();
  if (images.length > 0 && role !== "user" && role !== "tool")
    throw invalidField(`${field}.images`, "are supported in user messages and tool results only");
  switch (role) {
    case "system":
    case "developer":
    // Instructions for some models, which templates that know no such role would drop.
    case "control":
      return { message: { role: "system", content } };
    case "user":
      return { message: { role, content, ...(images.length === 0 ? {} : { images }) } };
    case "assistant":
      return { message: readAssistant(message, field) };
    case "tool": {
      const call = {
        ...(message.tool_call_id ? { toolCallId: message.tool_call_id } : {}),
        ...(message.tool_name ? { toolName: message.tool_name } : {}),
      };
      return { message: { role, content, ...call }, images };
    }
    default:
      throw invalidField(`${field}.role`, 'must be "system", "user", "assistant" or "tool"');
  }
}

function readAssistant(message: ChatMessage, field: string): Message {
  const { thinking, tool_calls } = message;
  const content = message.content ?? "";
  const toolCalls = (tool_calls ?? []).map((call, index) => readCall(call, `${field}.tool_calls.${index}`));
  return {
    role: "assistant",
    content: content === "" && toolCalls.length > 0 ? null : content,
    ...(thinking ? { reasoning: thinking } : {}),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

type WireToolCall = NonNullable<ChatMessage["tool_calls"]>[number];

/** A call without an id gets one from its position, so that the same history always gives the same prompt. */
function readCall({ id, function: called }: WireToolCall, field: string): ToolCall {
  return {
    id: id || `call_${field.replaceAll(/\D+/gu, "_").slice(1)}`,
    name: called.name,
    arguments: readArguments(called.arguments, `${field}.function.arguments`),
  };
}

/** Agents also send JSON text, as in other APIs, or nothing at all. */
function readArguments(value: unknown, field: string): JsonObject {
  if (value === undefined || value === null || value === "") return {};
  const parsed = typeof value === "string" ? parseBoundedJson(value) : value;
  if (isObject(parsed)) return parsed;
  throw invalidField(field, "must be an object or its JSON text");
}

/** The JSON Schema of the arguments is passed on unchanged. */
export function readTools(tools: readonly ChatTool[] | null | undefined): readonly Tool[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }, index) => {
    const hasParameters = parameters !== undefined && parameters !== null;
    if (hasParameters && !isObject(parameters)) {
      throw invalidField(`tools.${index}.function.parameters`, "must be an object");
    }
    return { name, ...(description ? { description } : {}), ...(hasParameters ? { parameters } : {}) };
  });
}

/** Values come from parsed JSON, so an object contains nothing but JSON. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
