import { invalidField } from "../../../failures.ts";
import { type ImageSource, maxImages } from "../../../images/read-images.ts";
import type { CountTokensBody, ImageBlock } from "../schema.ts";
import { nestedBlocks } from "./nested-blocks.ts";

/** So many of the oldest images are left out at once, so that the beginning of the prompt seldom changes. */
const omittedTogether = 8;

/**
 * The images of a request, including those in tool results and documents. An agent sends all images of its history, so
 * the oldest of too many are left out, but none of the user's last message.
 */
export function imageSources(messages: CountTokensBody["messages"]): readonly ImageSource[] {
  const all = [...nestedBlocks(messages)].flatMap(({ block, field }) =>
    block.type === "image" ? [imageSource(block, field)] : [],
  );
  const excess = Math.max(0, all.length - maxImages);
  if (excess === 0) return all;
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const last = all.findIndex(({ field }) => field.startsWith(`messages.${lastUser}.`));
  const earlier = last === -1 ? all.length : last;
  return all.slice(Math.min(earlier, Math.ceil(excess / omittedTogether) * omittedTogether));
}

function imageSource({ source }: ImageBlock, field: string): ImageSource {
  switch (source.type) {
    case "base64":
      return { field, base64: source.data, declaredType: source.media_type.toLowerCase() };
    case "url":
      return { field, url: source.url };
    case "*":
    default:
      throw invalidField(`${field}.source.type`, 'must be "base64" or "url"');
  }
}
