import { maxPdfs, type ReadPdfOptions, readPdfText } from "../../../documents/read-pdf-text.ts";
import { describePdf, pdfOf, readTextFile } from "../read-file.ts";
import type { WireMessage, WirePart } from "../schema.ts";

/** Puts the text of files in their place; a PDF that cannot be read becomes a sentence. */
export async function readFiles(
  messages: readonly WireMessage[],
  options: ReadPdfOptions,
): Promise<readonly WireMessage[]> {
  const files = messages.flatMap(({ content }, message) =>
    partsOf(content).flatMap((part, index) =>
      part.type === "file" ? [{ part, field: `messages.${message}.content.${index}.file` }] : [],
    ),
  );
  const pdfs = files.flatMap(({ part }) => {
    const base64 = pdfOf(part.file ?? {});
    return base64 === undefined ? [] : [{ part, base64 }];
  });
  const texts = new Map<WirePart, string | undefined>(pdfs.map(({ part }) => [part, undefined]));
  // One after the other, which bounds memory.
  for (const { part, base64 } of pdfs.slice(-maxPdfs)) texts.set(part, await readPdfText(base64, options));
  const written = new Map<WirePart, string>(
    files.map(({ part, field }) => {
      const file = part.file ?? {};
      return [part, texts.has(part) ? describePdf(file, texts.get(part)) : readTextFile(file, field)];
    }),
  );
  const replace = (part: WirePart): WirePart => {
    const text = written.get(part);
    return text === undefined ? part : { type: "text", text };
  };
  return messages.map((message) =>
    Array.isArray(message.content) ? { ...message, content: message.content.map(replace) } : message,
  );
}

function partsOf(content: WireMessage["content"]): readonly WirePart[] {
  return Array.isArray(content) ? content : [];
}
