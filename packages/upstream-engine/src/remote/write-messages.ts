import type { Conversation, Message, Tool } from "@hearth-and-keep/engine";
import type { Fields } from "../wire/json-fields.ts";
import { writeMedium } from "../wire/write-medium.ts";
import type { Dialect } from "./dialects.ts";
import { notSupported } from "./write-sampling.ts";

export type MessageRules = {
  readonly dialect: Dialect;
  /** Whether the engine's template supports tools; otherwise calls and their results are sent as plain text. */
  readonly supportsTools: boolean;
};

/** Converts a conversation to OpenAI messages. */
export function writeMessages(conversation: Conversation, rules: MessageRules): readonly Fields[] {
  const { messages, goTemplate } = conversation;
  // Remote engines render prompts themselves.
  if (goTemplate !== undefined) throw notSupported("templates in requests");
  return messages.map((message) => writeMessage(message, rules));
}

export function writeTools(tools: readonly Tool[]): readonly Fields[] {
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters ?? { type: "object", properties: {} },
    },
  }));
}

function writeMessage(message: Message, rules: MessageRules): Fields {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: writeContent(message) };
    case "assistant":
      return writeAssistant(message, rules);
    case "tool":
      if (!rules.supportsTools) return { role: "user", content: message.content };
      return {
        role: "tool",
        content: message.content,
        ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
        ...(message.toolName === undefined ? {} : { name: message.toolName }),
      };
  }
}

function writeContent({ content, images = [], audio = [] }: Extract<Message, { role: "user" }>): unknown {
  if (images.length === 0 && audio.length === 0) return content;
  return [...[...images, ...audio].map(writeMedium), { type: "text", text: content }];
}

function writeAssistant(message: Extract<Message, { role: "assistant" }>, rules: MessageRules): Fields {
  const { content, reasoning, toolCalls = [] } = message;
  const reasoningFields = reasoning === undefined ? {} : { [rules.dialect.reasoningField]: reasoning };
  if (toolCalls.length === 0) return { role: "assistant", content: content ?? "", ...reasoningFields };
  if (!rules.supportsTools) {
    const calls = toolCalls.map(
      ({ name, arguments: values }) =>
        `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`,
    );
    return { role: "assistant", content: [content ?? "", ...calls].join("\n").trim() };
  }
  return {
    role: "assistant",
    content,
    ...reasoningFields,
    tool_calls: toolCalls.map(({ id, name, arguments: values }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(values) },
    })),
  };
}
