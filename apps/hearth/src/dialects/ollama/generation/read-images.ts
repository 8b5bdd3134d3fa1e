import { type ImageSource, parseImageSource } from "../../../images/read-images.ts";
import type { ChatMessage } from "../schema.ts";

type Images = readonly string[] | null | undefined;

/** Ollama's images are bare base64 or data URLs. */
export function imageSources(images: Images, field: string): readonly ImageSource[] {
  return (images ?? []).map((text, index) =>
    parseImageSource(text, `${field}.${index}`, { allowsBareBase64: true }),
  );
}

export function messageImageSources(messages: readonly ChatMessage[]): readonly ImageSource[] {
  return messages.flatMap(({ images }, index) => imageSources(images, `messages.${index}.images`));
}
