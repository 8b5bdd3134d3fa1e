import type { EngineFailure } from "@hearth-and-keep/engine";
import { inspectMachine, type Machine } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import type { PdfFailure } from "./pdf-failure.ts";
import { defaultPdfLimits, type PdfLimits } from "./pdf-limits.ts";
import { findProgram } from "./plan-job.ts";
import { ProcessSlots } from "./process-slots.ts";
import { type JobResult, runJob } from "./sandboxed-job.ts";
import type { JobResponse } from "./worker/wire-format.ts";

export type PdfReader = AsyncDisposable & {
  /**
   * The text of a PDF, page by page, with a form feed between pages. Throws a PdfFailure, or the signal's reason. The
   * bytes must not change meanwhile.
   */
  read(bytes: Uint8Array, signal: AbortSignal): Promise<string>;
  /** Ends all processes; documents that are being read fail with an AbortError. */
  close(): Promise<void>;
};

export type PdfReaderOptions = {
  /** Inspected for the first document if absent. */
  readonly machine?: Machine;
  readonly limits?: Partial<PdfLimits>;
};

const signature = "%PDF-";
/** Viewers accept other bytes before the signature, but not more than these. */
const maxSignatureOffset = 1024;
const cutNote = "\n[The rest of the document is omitted because it is too long]";

/** Starts nothing until the first document. */
export function createPdfReader(options: PdfReaderOptions = {}): PdfReader {
  const limits = { ...defaultPdfLimits, ...options.limits };
  const slots = new ProcessSlots(limits);
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  let { machine } = options;

  const run = (bytes: Uint8Array, signal: AbortSignal): Promise<JobResult> => {
    machine ??= inspectMachine();
    const { seconds, memoryBytes, textBytes: maxResponseBytes } = limits;
    const program = findProgram("pdf", [limits.pages, limits.textBytes]);
    return runJob(bytes, { machine, program, seconds, memoryBytes, maxResponseBytes, signal });
  };

  const close = async (): Promise<void> => {
    closing.abort(new DOMException("The PDF reader is closed", "AbortError"));
    await Promise.allSettled(running);
  };

  return {
    async read(bytes, callerSignal) {
      const signal = AbortSignal.any([callerSignal, closing.signal]);
      signal.throwIfAborted();
      if (bytes.length > limits.documentBytes)
        throw failure({ kind: "pdf-too-large", maxBytes: limits.documentBytes });
      if (!hasSignature(bytes)) throw failure({ kind: "pdf-invalid" });
      const reading = slots.run(() => run(bytes, signal), signal).catch(rethrowUnavailable);
      running.add(reading);
      try {
        return toText(await reading, limits);
      } finally {
        running.delete(reading);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function hasSignature(bytes: Uint8Array): boolean {
  const start = Buffer.from(
    bytes.buffer,
    bytes.byteOffset,
    Math.min(bytes.length, maxSignatureOffset + signature.length),
  );
  return start.includes(signature, 0, "latin1");
}

function toText(result: JobResult, limits: PdfLimits): string {
  switch (result.kind) {
    case "response":
      return readResponse(result, limits);
    case "timed-out":
      throw failure({ kind: "pdf-timed-out", seconds: limits.seconds });
    case "out-of-memory":
      throw failure({ kind: "pdf-out-of-memory", maxBytes: limits.memoryBytes });
    case "crashed":
      throw failure({ kind: "pdf-reader-crashed" });
  }
}

function readResponse({ status, content }: JobResponse, limits: PdfLimits): string {
  switch (status) {
    case "text":
      return content.toString("utf8");
    case "cut-text":
      return content.toString("utf8") + cutNote;
    case "pdf-too-many-pages":
      throw failure({ kind: status, maxPages: limits.pages });
    case "pdf-out-of-memory":
      throw failure({ kind: status, maxBytes: limits.memoryBytes });
    case "pdf-invalid":
    case "pdf-encrypted":
    case "pdf-without-text":
      throw failure({ kind: status });
    case "png":
    case "image-invalid":
      throw failure({ kind: "pdf-reader-crashed" });
  }
}

function failure(cause: PdfFailure): FailureError<PdfFailure> {
  return new FailureError<PdfFailure>(cause);
}

/** The sandbox is that of engines, and so are its failures. */
function rethrowUnavailable(error: unknown): never {
  if (!(error instanceof FailureError)) throw error;
  // Only the sandbox and this package throw failures here.
  const cause = error.failure as EngineFailure | PdfFailure;
  if (cause.kind !== "sandbox-unavailable") throw error;
  throw new FailureError<PdfFailure>(
    { kind: "pdf-reader-unavailable", reason: cause.reason },
    { cause: error },
  );
}
