import { invalidField } from "../../failures.ts";
import { decodeBase64, splitDataUrl } from "../../images/base64.ts";

/** A file inside a request. */
export type WireFile = {
  /** A data URL. */
  readonly file_data?: string | null | undefined;
  readonly filename?: string | null | undefined;
};

/** The base64 of a PDF; undefined for every other file. */
export function pdfOf({ file_data: url }: WireFile): string | undefined {
  if (typeof url !== "string" || !/^data:application\/pdf[;,]/iu.test(url)) return undefined;
  return splitDataUrl(url)?.base64;
}

/** What the model reads in the place of a PDF; a sentence if it has no text. */
export function describePdf({ filename }: WireFile, text: string | undefined): string {
  const isNamed = typeof filename === "string";
  if (text !== undefined) return isNamed ? `${filename}:\n${text}` : text;
  const what = isNamed ? `The file "${filename}"` : "A PDF";
  return `[${what} is left out here, because it could not be read]`;
}

/** The content of a text file. `field` is its path in the body. */
export function readTextFile({ file_data: url, filename }: WireFile, field: string): string {
  if (typeof url !== "string") {
    throw invalidField(`${field}.file_data`, "is missing; send the content of the file in the request");
  }
  const inline = splitDataUrl(url);
  const bytes = inline === undefined ? undefined : decodeBase64(inline.base64);
  if (bytes === undefined) {
    throw invalidField(`${field}.file_data`, 'must be a data URL of the form "data:<type>;base64,<bytes>"');
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return typeof filename === "string" ? `${filename}:\n${text}` : text;
  } catch {
    throw invalidField(`${field}.file_data`, "is not UTF-8 text; only text files and PDFs are supported");
  }
}
