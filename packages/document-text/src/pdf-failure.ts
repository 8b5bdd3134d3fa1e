import { FailureError } from "@hearth-and-keep/failures";

/** Why a document has no text for us. */
export type PdfFailure =
  /** Not a PDF, or too damaged to find its pages. */
  | { readonly kind: "pdf-invalid" }
  /** It cannot be opened without a password. */
  | { readonly kind: "pdf-encrypted" }
  /** Its pages are images, or empty. */
  | { readonly kind: "pdf-without-text" }
  | { readonly kind: "pdf-too-large"; readonly maxBytes: number }
  | { readonly kind: "pdf-too-many-pages"; readonly maxPages: number }
  | { readonly kind: "pdf-timed-out"; readonly seconds: number }
  | { readonly kind: "pdf-out-of-memory"; readonly maxBytes: number }
  | { readonly kind: "pdf-reader-crashed" }
  /** Too many documents are waiting. */
  | { readonly kind: "pdf-reader-busy"; readonly waiting: number }
  /** This machine cannot start the process with the required protection. */
  | { readonly kind: "pdf-reader-unavailable"; readonly reason: string };

export function isPdfFailure(error: unknown): error is FailureError<PdfFailure> {
  return error instanceof FailureError && error.message.startsWith("pdf-");
}

const mebibyte = 1024 ** 2;

/** Completes a sentence that starts with the document's path in the request, e.g. "is encrypted; …". */
export function explainPdfFailure(failure: PdfFailure): string {
  switch (failure.kind) {
    case "pdf-invalid":
      return "is not a PDF, or is damaged; save it again and resend it";
    case "pdf-encrypted":
      return "is an encrypted PDF; send it without a password";
    case "pdf-without-text":
      return "is a PDF without text; send its pages as images, or run text recognition first";
    case "pdf-too-large":
      return `exceeds ${failure.maxBytes / mebibyte} MiB; send a smaller PDF`;
    case "pdf-too-many-pages":
      return `is a PDF with more than ${failure.maxPages} pages; send fewer pages`;
    case "pdf-timed-out":
      return `is a PDF that cannot be read within ${failure.seconds} seconds; send fewer pages`;
    case "pdf-out-of-memory":
      return `is a PDF that cannot be read with ${failure.maxBytes / mebibyte} MiB of memory; send fewer pages`;
    case "pdf-reader-crashed":
      return "is a PDF that cannot be read; save it again and resend it, or send its text";
    case "pdf-reader-busy":
      return `cannot be read now: ${failure.waiting} documents are waiting; retry later`;
    case "pdf-reader-unavailable":
      return `cannot be read: ${failure.reason}`;
  }
}
