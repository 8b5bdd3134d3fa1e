import { requestFailure } from "../../failures.ts";
import { decodeBase64 } from "../../images/base64.ts";
import type { ImageSource } from "../../images/read-images.ts";
import type { Block, CountTokensBody, ImageBlock } from "./schema.ts";

/** Where the images of a request are, also those in results of tools, before any of them is read. */
export function imageSources(messages: CountTokensBody["messages"]): readonly ImageSource[] {
  return messages.flatMap(({ content }, index) => blockSources(content, `messages.${index}.content`));
}

function blockSources(content: string | readonly Block[], place: string): readonly ImageSource[] {
  if (typeof content === "string") return [];
  return content.flatMap((block, index) => {
    const inside = `${place}.${index}`;
    if (block.type === "image") return [imageSource(block, inside)];
    return block.type === "tool_result" ? blockSources(block.content ?? "", `${inside}.content`) : [];
  });
}

function imageSource({ source }: ImageBlock, place: string): ImageSource {
  switch (source.type) {
    case "base64":
      return { place, base64: source.data, declaredType: source.media_type.toLowerCase() };
    case "url":
      return { place, address: source.url };
    case "*":
    default:
      throw invalid(`${place}.source.type`, 'must be "base64" or "url"');
  }
}

export function readBase64(text: string, place: string): Buffer {
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw invalid(place, "must be base64");
  return bytes;
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", place, reason });
}
