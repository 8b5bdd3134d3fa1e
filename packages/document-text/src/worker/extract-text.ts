import { BoundedText } from "./bounded-text.ts";
import { isEncryptionError, type OpenedDocument, openDocument } from "./pdf-library.ts";
import type { JobResponse, JobStatus } from "./wire-format.ts";

export type ExtractionLimits = { readonly maxPages: number; readonly maxTextBytes: number };

/** The text of all pages; a page that cannot be read is skipped. */
export async function extractText(bytes: Uint8Array, limits: ExtractionLimits): Promise<JobResponse> {
  try {
    const document = await openDocument(bytes);
    if (document.pages > limits.maxPages) return withoutText("pdf-too-many-pages");
    return await readPages(document, new BoundedText(limits.maxTextBytes));
  } catch (error) {
    return withoutText(statusOf(error));
  }
}

async function readPages(document: OpenedDocument, text: BoundedText): Promise<JobResponse> {
  let lastError: unknown;
  for (let page = 1; page <= document.pages && !text.isFull; page += 1) {
    if (page > 1) text.add("\f");
    try {
      for await (const piece of document.readPage(page)) {
        text.add(clean(piece));
        if (text.isFull) break;
      }
    } catch (error) {
      lastError = error;
    }
  }
  const content = text.toString();
  if (content.trim() !== "") {
    return { status: text.isFull ? "cut-text" : "text", content: Buffer.from(content, "utf8") };
  }
  return withoutText(lastError === undefined ? "pdf-without-text" : statusOf(lastError));
}

/** Control characters of broken fonts, and halves of characters, which UTF-8 cannot express. */
function clean(piece: string): string {
  return piece.replaceAll(/(?![\n\t])\p{Cc}/gu, "").toWellFormed();
}

function withoutText(status: JobStatus): JobResponse {
  return { status, content: Buffer.alloc(0) };
}

/** The parser wraps errors, of which only the message remains. */
function statusOf(error: unknown): JobStatus {
  if (isEncryptionError(error)) return "pdf-encrypted";
  const message = error instanceof Error ? error.message : String(error);
  return /allocation failed|out of memory/iu.test(message) ? "pdf-out-of-memory" : "pdf-invalid";
}
