import type { Image, Message } from "@hearth-and-keep/engine";

/** A message as a dialect reads it; a tool result may have images too. */
export type ReadMessage = { readonly message: Message; readonly images?: readonly Image[] };

/** Stands for an image that the model cannot be shown. */
export const omittedImageText = "[An image is left out here, because this model cannot see it]";

/**
 * Chat templates show images in user messages only, and results of parallel calls in one block. So images of tool results
 * follow the last result of the block, in the user message that is there or in one of their own.
 */
export function attachImages(read: readonly ReadMessage[]): readonly Message[] {
  const messages: Message[] = [];
  let waiting: readonly Image[] = [];
  for (const { message, images = [] } of read) {
    if (message.role === "tool") waiting = [...waiting, ...images];
    else if (waiting.length > 0) {
      const isUser = message.role === "user";
      if (!isUser) messages.push({ role: "user", content: "", images: waiting });
      messages.push(isUser ? { ...message, images: [...waiting, ...(message.images ?? [])] } : message);
      waiting = [];
      continue;
    }
    messages.push(message);
  }
  return waiting.length === 0 ? messages : [...messages, { role: "user", content: "", images: waiting }];
}
