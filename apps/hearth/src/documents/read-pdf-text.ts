import type { ReadPdf } from "../dependencies.ts";
import { decodeBase64 } from "../images/base64.ts";

export type ReadPdfOptions = {
  /** Absent if the server cannot read PDFs. */
  readonly readPdf?: ReadPdf | undefined;
  readonly signal: AbortSignal;
};

/** Agents send every PDF of their history again; only the newest of so many are read. */
export const maxPdfs = 32;

/**
 * The text of a PDF; undefined if there is none or it cannot be read. That is not an error, because the PDF stays in the
 * history that the client sends: an error would end the conversation for good.
 */
export async function readPdfText(
  base64: string,
  { readPdf, signal }: ReadPdfOptions,
): Promise<string | undefined> {
  const bytes = readPdf === undefined ? undefined : decodeBase64(base64);
  if (readPdf === undefined || bytes === undefined) return undefined;
  try {
    const text = await readPdf(bytes, signal);
    return text.trim() === "" ? undefined : text;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
