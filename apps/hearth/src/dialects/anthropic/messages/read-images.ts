import { invalidField } from "../../../failures.ts";
import { decodeBase64 } from "../../../images/base64.ts";
import type { ImageSource } from "../../../images/read-images.ts";
import type { Block, CountTokensBody, ImageBlock } from "../schema.ts";

/** Every image of a request, including those in tool results. */
export function imageSources(messages: CountTokensBody["messages"]): readonly ImageSource[] {
  return messages.flatMap(({ content }, index) => blockSources(content, `messages.${index}.content`));
}

function blockSources(content: string | readonly Block[], field: string): readonly ImageSource[] {
  if (typeof content === "string") return [];
  return content.flatMap((block, index) => {
    const inside = `${field}.${index}`;
    if (block.type === "image") return [imageSource(block, inside)];
    return block.type === "tool_result" ? blockSources(block.content ?? "", `${inside}.content`) : [];
  });
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

export function readBase64(text: string, field: string): Buffer {
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw invalidField(field, "must be valid base64");
  return bytes;
}
