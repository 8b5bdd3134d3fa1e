import type { Message } from "@hearth-and-keep/engine";

/** The images and audio of a message. */
type Media = Pick<Extract<Message, { role: "user" }>, "images" | "audio">;

/** A message as a dialect reads it; a tool result may have media too. */
export type ReadMessage = { readonly message: Message } & Media;

/** Stands for an image that the model cannot be shown. */
export const omittedImageText = "[An image is left out here, because this model cannot see it]";

/** Stands for audio that the model cannot be played. */
export const omittedAudioText = "[Audio is left out here, because this model cannot hear it]";

/**
 * Chat templates show media in user messages only, and results of parallel calls in one block. So media of tool results
 * follow the last result of the block, in the user message that is there or in one of their own.
 */
export function attachMedia(read: readonly ReadMessage[]): readonly Message[] {
  const messages: Message[] = [];
  let waiting: Media = {};
  for (const { message, ...media } of read) {
    if (message.role === "tool") waiting = joinMedia(waiting, media);
    else if (hasMedia(waiting)) {
      const isUser = message.role === "user";
      if (!isUser) messages.push({ role: "user", content: "", ...waiting });
      messages.push(isUser ? { ...message, ...joinMedia(waiting, message) } : message);
      waiting = {};
      continue;
    }
    messages.push(message);
  }
  return hasMedia(waiting) ? [...messages, { role: "user", content: "", ...waiting }] : messages;
}

function hasMedia({ images = [], audio = [] }: Media): boolean {
  return images.length > 0 || audio.length > 0;
}

/** Without empty lists, as messages have them. */
function joinMedia(...all: readonly Media[]): Media {
  const images = all.flatMap((each) => each.images ?? []);
  const audio = all.flatMap((each) => each.audio ?? []);
  return { ...(images.length === 0 ? {} : { images }), ...(audio.length === 0 ? {} : { audio }) };
}
