import type { PdfFailure } from "@hearth-and-keep/document-text";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { openPdfReader } from "./read-pdf.ts";

const { signal } = new AbortController();

async function close(): Promise<void> {
  // There is nothing to close.
}

function failWith(thrown: unknown): Promise<unknown> {
  const read = async (): Promise<string> => {
    throw thrown;
  };
  return openPdfReader({ read, close, [Symbol.asyncDispose]: close }).readPdf(Buffer.from("%PDF-"), signal);
}

test.each<readonly [PdfFailure, object]>([
  [
    { kind: "pdf-encrypted" },
    { kind: "request-invalid", field: "document", reason: "is an encrypted PDF; send it without a password" },
  ],
  [
    { kind: "pdf-too-many-pages", maxPages: 500 },
    { kind: "request-invalid", reason: "is a PDF with more than 500 pages; send fewer pages" },
  ],
  [
    { kind: "pdf-too-large", maxBytes: 32 * 1024 ** 2 },
    { kind: "request-invalid", reason: "exceeds 32 MiB; send a smaller PDF" },
  ],
  [{ kind: "pdf-reader-busy", waiting: 32 }, { kind: "server-busy" }],
  [
    { kind: "pdf-reader-unavailable", reason: "no sandbox" },
    { kind: "sandbox-unavailable", reason: "no sandbox" },
  ],
])("a PDF that cannot be read is a failure of the request: $kind", async (failure, expected) => {
  await expect(failWith(new FailureError<PdfFailure>(failure))).rejects.toMatchObject({ failure: expected });
});

test("a defect of the reader is not reported as a fault of the document", async () => {
  await expect(failWith(new TypeError("a defect"))).rejects.toThrow("a defect");
});
