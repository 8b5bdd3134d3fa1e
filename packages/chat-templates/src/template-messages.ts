import type { Conversation, EngineFailure, JsonObject, Message, Tool } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { strip } from "./byte-text.ts";
import type { TemplateCapabilities } from "./capabilities.ts";
import { adjustForFamily } from "./families.ts";

export type TemplateTraits = { readonly source: string; readonly capabilities: TemplateCapabilities };

/** A conversation in the shape templates expect: OpenAI's, adapted to what this template can take. */
export function writeMessages(
  { messages }: Conversation,
  { source, capabilities }: TemplateTraits,
): JsonObject[] {
  const trimmed = isTrimmed(source) ? messages.map(trim) : messages;
  const apart = capabilities.takesSystem ? trimmed : joinSystem(trimmed);
  let written = apart.map((message) => writeMessage(message, capabilities));
  if (!capabilities.takesText && capabilities.takesParts) written = written.map(toParts);
  return adjustForFamily(written, source);
}

/** StepFun's models loop in their thoughts when a message begins or ends with white space. */
function isTrimmed(source: string): boolean {
  return source.includes("You have access to the following functions in JSONSchema format");
}

function trim(message: Message): Message {
  const content = strip(message.content ?? "", { start: true, end: true });
  if (message.role !== "assistant") return { ...message, content };
  return { ...message, content, reasoning: strip(message.reasoning ?? "", { start: true, end: true }) };
}

function writeMessage(message: Message, capabilities: TemplateCapabilities): JsonObject {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      if ((message.images ?? []).length > 0)
        throw new FailureError<EngineFailure>({ kind: "not-supported", feature: "images" });
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
  { takesArgumentsAsObject }: TemplateCapabilities,
): JsonObject {
  const calls = toolCalls.map((call) => ({
    type: "function",
    function: {
      name: call.name,
      arguments: takesArgumentsAsObject ? call.arguments : JSON.stringify(call.arguments),
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

/** For templates without a system role: it opens the next message. */
function joinSystem(messages: readonly Message[]): readonly Message[] {
  const [first, second, ...rest] = messages;
  if (first?.role !== "system") return messages;
  return second === undefined
    ? []
    : [{ ...second, content: `${first.content}\n${second.content ?? ""}` }, ...rest];
}

function toParts(message: JsonObject): JsonObject {
  const { content } = message;
  return typeof content === "string" ? { ...message, content: [{ type: "text", text: content }] } : message;
}

export function writeTools(tools: readonly Tool[]): JsonObject[] {
  return tools.map(({ name, description = "", parameters = {} }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
}
