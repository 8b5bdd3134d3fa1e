/**
 * @module
 * The client side of the command line: which server to call, requests over HTTP, the errors it returns, and starting a
 * server on this machine when none runs. Every failure is one of a closed union and every read is bounded. Imports
 * little, so that commands start fast.
 * Imported by `commands/` and by `terminal/format-error.ts`.
 */
import { FailureError } from "@hearth-and-keep/failures";
import type { ErrorDetails, FailureCode } from "@hearth-and-keep/hearth-contract";

/** Why a command did not get its response. */
export type CallFailure =
  | { readonly kind: "address-invalid"; readonly where: string; readonly text: string }
  | { readonly kind: "key-file-unreadable"; readonly file: string }
  | {
      readonly kind: "server-unreachable";
      readonly url: string;
      readonly reason: string;
      readonly isLocal: boolean;
      /** Nothing listens there, so a server could be started. */
      readonly isFree: boolean;
    }
  /** The response is neither Hearth's nor Ollama's. */
  | { readonly kind: "unexpected-server"; readonly url: string }
  | {
      readonly kind: "error-response";
      readonly url: string;
      /** 500 for an error in the middle of a stream, whose status is already sent. */
      readonly status: number;
      readonly message: string;
      /** Undefined from servers without codes, e.g. Ollama. */
      readonly code: FailureCode | undefined;
      readonly details: ErrorDetails;
    }
  | { readonly kind: "response-truncated" }
  | {
      readonly kind: "server-start-failed";
      readonly lines: readonly string[];
      readonly exitCode: number | null;
    }
  | { readonly kind: "app-folder-unusable"; readonly folder: string; readonly reason: string }
  | { readonly kind: "usage-error"; readonly message: string; readonly next?: string }
  | { readonly kind: "not-a-terminal"; readonly command: string }
  | { readonly kind: "interrupted"; readonly messages: readonly string[] };

/** A class of its own, so that client commands need not load the messages of the store's failures. */
export class CallError extends FailureError<CallFailure> {}

export function callFailure(failure: CallFailure, options?: ErrorOptions): CallError {
  return new CallError(failure, options);
}

export function isCallFailure<Kind extends CallFailure["kind"]>(
  error: unknown,
  kind: Kind,
): error is CallError & { readonly failure: Extract<CallFailure, { kind: Kind }> } {
  return error instanceof CallError && error.failure.kind === kind;
}

/** Whether the server responded with one of these codes. */
export function hasErrorCode(error: unknown, ...codes: readonly FailureCode[]): boolean {
  if (!isCallFailure(error, "error-response")) return false;
  const { code } = error.failure;
  return code !== undefined && codes.includes(code);
}
