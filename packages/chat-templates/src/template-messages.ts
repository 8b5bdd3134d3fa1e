import {
  type Conversation,
  type EngineFailure,
  findUnsupportedMedia,
  type JsonObject,
  type Message,
  type Tool,
} from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { strip } from "./byte-text.ts";
import type { TemplateCapabilities } from "./capabilities.ts";
import { adjustForFamily } from "./families.ts";

export type TemplateTraits = { readonly source: string; readonly capabilities: TemplateCapabilities };

/** Converts a conversation to OpenAI messages, adapted to the capabilities of the template. */
export function writeMessages(
  { messages }: Conversation,
  { source, capabilities }: TemplateTraits,
): JsonObject[] {
  const trimmed = requiresTrimming(source) ? messages.map(trim) : messages;
  const adapted = capabilities.supportsSystem ? trimmed : mergeSystem(trimmed);
  let messageObjects = adapted.map((message) => writeMessage(message, capabilities));
  if (!capabilities.acceptsText && capabilities.acceptsContentList)
    messageObjects = messageObjects.map(toContentList);
  return adjustForFamily(messageObjects, source);
}

/** StepFun's models loop in their reasoning if a message starts or ends with whitespace. */
function requiresTrimming(source: string): boolean {
  return source.includes("You have access to the following functions in JSONSchema format");
}

function trim(message: Message): Message {
  const content = strip(message.content ?? "", { start: true, end: true });
  if (message.role !== "assistant") return { ...message, content };
  return { ...message, content, reasoning: strip(message.reasoning ?? "", { start: true, end: true }) };
}

/** Drivers put a marker in the text instead. */
function rejectMedia(message: Message): void {
  const support = { canSeeImages: false, canHearAudio: false };
  const feature = findUnsupportedMedia({ messages: [message] }, support);
  if (feature !== undefined) throw new FailureError<EngineFailure>({ kind: "not-supported", feature });
}

function writeMessage(message: Message, capabilities: TemplateCapabilities): JsonObject {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      rejectMedia(message);
      return { role: "user", content: message.content };
    case "assistant":
      return writeAssistant(message, capabilities);
    case "tool":
      return {
        role: "tool",
        content: message.content,
        ...(message.toolName === undefined ? {} : { name: message.toolName }),
        ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
      };
  }
}

function writeAssistant(
  { content, reasoning = "", toolCalls = [] }: Extract<Message, { role: "assistant" }>,
  { acceptsArgumentsObject }: TemplateCapabilities,
): JsonObject {
  const calls = toolCalls.map((call) => ({
    type: "function",
    function: {
      name: call.name,
      arguments: acceptsArgumentsObject ? call.arguments : JSON.stringify(call.arguments),
    },
    ...(call.id === "" ? {} : { id: call.id }),
  }));
  return {
    role: "assistant",
    content: content ?? "",
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** For templates without a system role, prepends the system message to the next one. */
function mergeSystem(messages: readonly Message[]): readonly Message[] {
  const [first, second, ...rest] = messages;
  if (first?.role !== "system") return messages;
  return second === undefined
    ? []
    : [{ ...second, content: `${first.content}\n${second.content ?? ""}` }, ...rest];
}

function toContentList(message: JsonObject): JsonObject {
  const { content } = message;
  return typeof content === "string" ? { ...message, content: [{ type: "text", text: content }] } : message;
}

export function writeTools(tools: readonly Tool[]): JsonObject[] {
  return tools.map(({ name, description = "", parameters = {} }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
}
