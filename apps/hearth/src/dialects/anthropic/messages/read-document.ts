import { invalidField } from "../../../failures.ts";
import type { DocumentBlock } from "../schema.ts";
import { readBase64 } from "./read-images.ts";

/** A document as text for the model, with its title and context first. Only text documents are supported. */
export function readDocument({ title, context, source }: DocumentBlock, field: string): string {
  const lines = [title, context, readSource(source, `${field}.source`)];
  return lines.filter((line) => typeof line === "string" && line !== "").join("\n");
}

function readSource(source: DocumentBlock["source"], field: string): string {
  switch (source.type) {
    case "text":
      return source.data;
    case "content":
      return readContent(source.content, `${field}.content`);
    case "base64":
      if (source.media_type.toLowerCase().startsWith("text/")) {
        return new TextDecoder().decode(readBase64(source.data, `${field}.data`));
      }
      throw notText(`${field}.media_type`);
    case "*":
    default:
      throw notText(`${field}.type`);
  }
}

type Content = Extract<DocumentBlock["source"], { type: "content" }>["content"];

function readContent(content: Content, field: string): string {
  if (typeof content === "string") return content;
  return content
    .map((block, index) => {
      if (block.type === "text") return block.text;
      throw notText(`${field}.${index}.type`);
    })
    .join("\n");
}

function notText(field: string): Error {
  return invalidField(field, "must be text; other documents are not supported");
}
