import type { Conversation, Message, Tool } from "@hearth-and-keep/engine";
import type { Fields } from "../wire/json-fields.ts";
import type { Dialect } from "./dialects.ts";
import { notSupported } from "./write-sampling.ts";

export type MessageRules = {
  readonly dialect: Dialect;
  /** The engine's template knows tools; otherwise calls and their results are told as plain text. */
  readonly knowsTools: boolean;
};

/** A conversation in OpenAI's words. */
export function writeMessages(conversation: Conversation, rules: MessageRules): readonly Fields[] {
  const { messages, goTemplate } = conversation;
  // Engines elsewhere make their prompts themselves.
  if (goTemplate !== undefined) throw notSupported("a template in a request");
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
      return writeAnswer(message, rules);
    case "tool":
      if (!rules.knowsTools) return { role: "user", content: message.content };
      return {
        role: "tool",
        content: message.content,
        ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
        ...(message.toolName === undefined ? {} : { name: message.toolName }),
      };
  }
}

function writeContent({ content, images = [] }: Extract<Message, { role: "user" }>): unknown {
  if (images.length === 0) return content;
  const pictures = images.map(({ bytes, mediaType }) => ({
    type: "image_url",
    image_url: { url: `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}` },
  }));
  return [...pictures, { type: "text", text: content }];
}

function writeAnswer(message: Extract<Message, { role: "assistant" }>, rules: MessageRules): Fields {
  const { content, reasoning, toolCalls = [] } = message;
  const thoughts = reasoning === undefined ? {} : { [rules.dialect.reasoningField]: reasoning };
  if (toolCalls.length === 0) return { role: "assistant", content: content ?? "", ...thoughts };
  if (!rules.knowsTools) {
    const calls = toolCalls.map(
      ({ name, arguments: values }) =>
        `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`,
    );
    return { role: "assistant", content: [content ?? "", ...calls].join("\n").trim() };
  }
  return {
    role: "assistant",
    content,
    ...thoughts,
    tool_calls: toolCalls.map(({ id, name, arguments: values }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(values) },
    })),
  };
}
