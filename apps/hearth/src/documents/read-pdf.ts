/**
 * @module
 * Documents in requests: opens the reader of PDFs, and turns its failures into failures of a request. Nothing is parsed
 * here, but in the sandboxed processes of `document-text`.
 * Imported by `commands/serve.ts` and by dialects, which get `readPdf` as a dependency.
 */

import type { PdfReader } from "@hearth-and-keep/document-text";
import { createPdfReader, explainPdfFailure, isPdfFailure } from "@hearth-and-keep/document-text";
import type { ReadPdf } from "../dependencies.ts";
import { invalidField, requestFailure } from "../failures.ts";

/** The field of a failure; a dialect that knows the document's path in the request replaces it. */
const documentField = "document";

const retryAfterSeconds = 5;

/** Starts a process for each document, and none before the first. */
export function openPdfReader(
  reader: PdfReader = createPdfReader(),
): AsyncDisposable & { readonly readPdf: ReadPdf } {
  return {
    readPdf: (bytes, signal) => reader.read(bytes, signal).catch(rethrowAsRequestFailure),
    [Symbol.asyncDispose]: () => reader.close(),
  };
}

function rethrowAsRequestFailure(error: unknown): never {
  if (!isPdfFailure(error)) throw error;
  const { failure } = error;
  const options = { cause: error };
  if (failure.kind === "pdf-reader-busy") {
    throw requestFailure({ kind: "server-busy", retryAfterSeconds }, options);
  }
  if (failure.kind === "pdf-reader-unavailable") {
    throw requestFailure({ kind: "sandbox-unavailable", reason: failure.reason }, options);
  }
  throw invalidField(documentField, explainPdfFailure(failure));
}
