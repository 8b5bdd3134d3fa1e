import type { Conversation, Message } from "@hearth-and-keep/engine";

/** For English text; other languages have fewer. */
const charactersPerToken = 4;
/** A lower bound for common projectors, whatever the size of the image. */
const tokensPerImage = 64;
/** Likewise for the sounds of common encoders. */
const tokensPerSecondOfAudio = 6;
/** For a message's role and special tokens. */
const tokensPerMessage = 4;

/** For engines without a tokenizer. Reported as usage only: no request is rejected or truncated because of it. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

export function estimateConversation({ messages, tools = [] }: Conversation): number {
  const toolTokens = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
  return messages.reduce((sum, message) => sum + estimateMessage(message), toolTokens);
}

function estimateMessage(message: Message): number {
  const mediaTokens = message.role === "user" ? estimateMedia(message) : 0;
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const callTokens = calls.length === 0 ? 0 : estimateTokens(JSON.stringify(calls));
  return tokensPerMessage + estimateTokens(message.content ?? "") + callTokens + mediaTokens;
}

function estimateMedia({ images = [], audio = [] }: Extract<Message, { role: "user" }>): number {
  const seconds = audio.reduce((sum, clip) => sum + clip.seconds, 0);
  return images.length * tokensPerImage + Math.ceil(seconds * tokensPerSecondOfAudio);
}
