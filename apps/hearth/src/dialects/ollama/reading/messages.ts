import type { JsonObject, Message, Tool, ToolCall } from "@hearth-and-keep/engine";
import { requestFailure } from "../../../failures.ts";
import { type ImagesByPlace, imageAt } from "../../../images/read-images.ts";
import type { ChatMessage, ChatTool } from "../schema.ts";

/** One message stays one message, in its order. */
export function readMessages(
  messages: readonly ChatMessage[],
  images: ImagesByPlace = new Map(),
): readonly Message[] {
  return messages.map((message, index) => readMessage(message, `messages.${index}`, images));
}

function readMessage(message: ChatMessage, place: string, allImages: ImagesByPlace): Message {
  const content = message.content ?? "";
  const images = (message.images ?? []).map((_, index) => imageAt(allImages, `${place}.images.${index}`));
  const role = message.role.toLowerCase();
  if (images.length > 0 && role !== "user") throw invalid(`${place}.images`, "belong to a user's message");
  switch (role) {
    case "system":
      return { role, content };
    case "user":
      return { role, content, ...(images.length === 0 ? {} : { images }) };
    case "assistant":
      return readAnswer(message, place);
    case "tool":
      return {
        role,
        content,
        ...(message.tool_call_id ? { toolCallId: message.tool_call_id } : {}),
        ...(message.tool_name ? { toolName: message.tool_name } : {}),
      };
    default:
      throw invalid(`${place}.role`, 'must be "system", "user", "assistant" or "tool"');
  }
}

function readAnswer(message: ChatMessage, place: string): Message {
  const { thinking, tool_calls } = message;
  const content = message.content ?? "";
  const toolCalls = (tool_calls ?? []).map((call, index) => readCall(call, `${place}.tool_calls.${index}`));
  return {
    role: "assistant",
    content: content === "" && toolCalls.length > 0 ? null : content,
    ...(thinking ? { reasoning: thinking } : {}),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

type WrittenCall = NonNullable<ChatMessage["tool_calls"]>[number];

/** Without an id a call gets one from its place, so that the same history always makes the same prompt. */
function readCall({ id, function: called }: WrittenCall, place: string): ToolCall {
  return {
    id: id || `call_${place.replaceAll(/\D+/gu, "_").slice(1)}`,
    name: called.name,
    arguments: readArguments(called.arguments, `${place}.function.arguments`),
  };
}

/** Agents send what other families wrote: JSON as text, or nothing at all. */
function readArguments(value: unknown, place: string): JsonObject {
  if (value === undefined || value === null || value === "") return {};
  const parsed = typeof value === "string" ? parse(value) : value;
  if (isObject(parsed)) return parsed;
  throw invalid(place, "must be an object, or the JSON text of one");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The schema of the arguments goes on as it came, keyword by keyword. */
export function readTools(tools: readonly ChatTool[] | null | undefined): readonly Tool[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }, index) => {
    const hasParameters = parameters !== undefined && parameters !== null;
    if (hasParameters && !isObject(parameters)) {
      throw invalid(`tools.${index}.function.parameters`, "must be an object");
    }
    return { name, ...(description ? { description } : {}), ...(hasParameters ? { parameters } : {}) };
  });
}

/** A value out of parsed JSON holds nothing but JSON. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", place, reason });
}
