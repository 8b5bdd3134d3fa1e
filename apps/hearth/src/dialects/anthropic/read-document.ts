import { requestFailure } from "../../failures.ts";
import { readBase64 } from "./read-image.ts";
import type { DocumentBlock } from "./schema.ts";

/** A document is shown to the model as text, under its title; what is no text is refused. */
export function readDocument({ title, context, source }: DocumentBlock, place: string): string {
  const lines = [title, context, readSource(source, `${place}.source`)];
  return lines.filter((line) => typeof line === "string" && line !== "").join("\n");
}

function readSource(source: DocumentBlock["source"], place: string): string {
  switch (source.type) {
    case "text":
      return source.data;
    case "content":
      return readContent(source.content, `${place}.content`);
    case "base64":
      if (source.media_type.toLowerCase().startsWith("text/")) {
        return new TextDecoder().decode(readBase64(source.data, `${place}.data`));
      }
      throw noText(`${place}.media_type`);
    case "*":
    default:
      throw noText(`${place}.type`);
  }
}

type Content = Extract<DocumentBlock["source"], { type: "content" }>["content"];

function readContent(content: Content, place: string): string {
  if (typeof content === "string") return content;
  return content
    .map((block, index) => {
      if (block.type === "text") return block.text;
      throw noText(`${place}.${index}.type`);
    })
    .join("\n");
}

function noText(place: string): Error {
  return requestFailure({
    kind: "request-invalid",
    place,
    reason: "must be text: other documents are not read",
  });
}
