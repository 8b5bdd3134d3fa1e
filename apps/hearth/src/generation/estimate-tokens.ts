import type { Conversation, Message } from "@hearth-and-keep/engine";

/** Of English; other texts have fewer. */
const charactersPerToken = 4;
/** The fewest that the usual projectors make of an image, whatever the size of its file. */
const tokensPerImage = 64;
/** For the role of a message and its marks. */
const tokensPerMessage = 4;

/** For engines that cannot be asked. Only told to callers as a figure: nothing is refused or left out by it. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

export function estimateConversation({ messages, tools = [] }: Conversation): number {
  const told = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  return messages.reduce((sum, message) => sum + estimateMessage(message), told);
}

function estimateMessage(message: Message): number {
  const images = message.role === "user" ? (message.images?.length ?? 0) : 0;
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const written = calls.length === 0 ? 0 : estimateTokens(JSON.stringify(calls));
  return tokensPerMessage + estimateTokens(message.content ?? "") + written + images * tokensPerImage;
}
