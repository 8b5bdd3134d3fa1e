import { type ImageSource, sourceOf } from "../../../images/read-images.ts";
import type { ChatMessage } from "../schema.ts";

type Images = readonly string[] | null | undefined;

/** Pictures of this family come as bare base64, or with the head of a data URL. */
export function imageSources(images: Images, place: string): readonly ImageSource[] {
  return (images ?? []).map((text, index) => sourceOf(text, `${place}.${index}`, { takesBare: true }));
}

export function messageImageSources(messages: readonly ChatMessage[]): readonly ImageSource[] {
  return messages.flatMap(({ images }, index) => imageSources(images, `messages.${index}.images`));
}
