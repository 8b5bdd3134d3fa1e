import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getDocument, PasswordException, type PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.min.mjs";

export type OpenedDocument = {
  readonly pages: number;
  /** Pieces of the text of a page in the order of its content, with line breaks; the first page is 1. */
  readPage(page: number): AsyncGenerator<string>;
};

/** In a bundle, the folder of character maps is next to it. */
const characterMaps = import.meta.url.endsWith(".ts")
  ? join(dirname(fileURLToPath(import.meta.resolve("pdfjs-dist/package.json"))), "cmaps/")
  : fileURLToPath(new URL("cmaps/", import.meta.url));

// Makes the parser work in this thread: the process is the boundary.
await import("pdfjs-dist/legacy/build/pdf.worker.min.mjs");

export async function openDocument(bytes: Uint8Array): Promise<OpenedDocument> {
  const document = await getDocument({
    data: bytes,
    cMapUrl: characterMaps,
    cMapPacked: true,
    // Text needs no shapes of glyphs, no images and no forms.
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    useWasm: false,
    enableXfa: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    verbosity: 0,
  }).promise;
  return { pages: document.numPages, readPage: (page) => readPage(document, page) };
}

export function isEncryptionError(error: unknown): boolean {
  return error instanceof PasswordException;
}

async function* readPage(document: PDFDocumentProxy, number: number): AsyncGenerator<string> {
  const page = await document.getPage(number);
  const reader = page.streamTextContent().getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      for (const item of read.value.items) if ("str" in item) yield item.str + (item.hasEOL ? "\n" : "");
    }
  } finally {
    page.cleanup();
  }
}
