import { decodeBase64 } from "../../../images/base64.ts";
import type { DocumentBlock } from "../schema.ts";
import { isPdf, type PdfTexts } from "./read-pdfs.ts";

type Source = Exclude<DocumentBlock["source"], { type: "content" }>;

/** The text of the document at this path in the body; undefined if it cannot be read. */
export function readDocument(source: Source, field: string, pdfTexts: PdfTexts): string | undefined {
  switch (source.type) {
    case "text":
      return source.data;
    case "base64":
      return source.media_type.toLowerCase().startsWith("text/")
        ? decodeText(source.data)
        : pdfTexts.get(field);
    case "*":
    default:
      return undefined;
  }
}

function decodeText(base64: string): string | undefined {
  const bytes = base64 === "" ? Buffer.alloc(0) : decodeBase64(base64);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** Stands in for a document that cannot be read. */
export function unreadableDocument(source: Source): string {
  return source.type === "base64" && isPdf(source.media_type)
    ? "[The text of this PDF could not be read.]"
    : "[This document could not be read: only text and PDF documents are supported.]";
}
