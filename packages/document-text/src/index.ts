/**
 * @module
 * The text of documents that clients send, and their images in a format that engines read. Each PDF and each WebP is
 * parsed in a child process of its own, in the sandbox of engines: no network, no files but the parser's, limits on
 * bytes, pages, text, pixels, memory and time. The process reads one document and ends, so that no document reaches
 * another one.
 * Imported by Hearth.
 */
export { explainPdfFailure, isPdfFailure, type PdfFailure } from "./pdf-failure.ts";
export { createPdfReader, type PdfReader, type PdfReaderOptions } from "./pdf-reader.ts";
export { createWebpConverter, type RejectedWebp, type WebpConverter } from "./webp-converter.ts";
