import { maxPdfs, type ReadPdfOptions, readPdfText } from "../../../documents/read-pdf-text.ts";
import type { CountTokensBody } from "../schema.ts";
import { nestedBlocks } from "./nested-blocks.ts";

/** The text of the PDFs that could be read, by their paths in the body. */
export type PdfTexts = ReadonlyMap<string, string>;

/** Reads the PDFs of a request one after the other, which bounds memory. One that cannot be read is left out. */
export async function readPdfs(
  messages: CountTokensBody["messages"],
  options: ReadPdfOptions,
): Promise<PdfTexts> {
  const texts = new Map<string, string>();
  for (const { field, base64 } of pdfSources(messages).slice(-maxPdfs)) {
    const text = await readPdfText(base64, options);
    if (text !== undefined) texts.set(field, text);
  }
  return texts;
}

type PdfSource = { readonly field: string; readonly base64: string };

function pdfSources(messages: CountTokensBody["messages"]): readonly PdfSource[] {
  return [...nestedBlocks(messages)].flatMap(({ block, field }) => {
    if (block.type !== "document" || block.source.type !== "base64") return [];
    return isPdf(block.source.media_type) ? [{ field, base64: block.source.data }] : [];
  });
}

export function isPdf(mediaType: string): boolean {
  return /^application\/pdf(?:;|$)/iu.test(mediaType);
}
