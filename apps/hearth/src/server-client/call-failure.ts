/**
 * @module
 * How commands reach a server: which one is meant, how it is asked over HTTP, what its refusals are, and how one is
 * started on this machine when none runs. Promises a failure of one closed union for everything that goes wrong,
 * bounds on whatever is read, and imports few enough that a command starts at once.
 * Imported by `commands/` and by `terminal/explain.ts`.
 */
import { FailureError } from "@hearth-and-keep/failures";

/** What keeps a command from getting its answer. */
export type CallFailure =
  | { readonly kind: "address-invalid"; readonly where: string; readonly text: string }
  | { readonly kind: "key-file-unreadable"; readonly file: string }
  | {
      readonly kind: "server-unreachable";
      readonly url: string;
      readonly reason: string;
      readonly isLocal: boolean;
      /** Nothing listens there, so that a server could be started. */
      readonly isFree: boolean;
    }
  /** Something answers there that speaks another language. */
  | { readonly kind: "server-strange"; readonly url: string }
  | { readonly kind: "key-refused"; readonly url: string; readonly hasKey: boolean }
  | { readonly kind: "server-model-missing"; readonly model: string; readonly isRemote: boolean }
  /** The server says no in its own words. */
  | { readonly kind: "server-refused"; readonly status: number; readonly text: string }
  | { readonly kind: "answer-cut-off" }
  | {
      readonly kind: "server-start-failed";
      readonly lines: readonly string[];
      readonly exitCode: number | null;
    }
  /** Where the command line keeps its own files cannot be written. */
  | { readonly kind: "own-folder-unusable"; readonly folder: string; readonly reason: string }
  | { readonly kind: "words-wrong"; readonly sentence: string; readonly next?: string }
  | { readonly kind: "terminal-missing"; readonly command: string }
  /** What is kept of an interrupted work, when something is. */
  | { readonly kind: "interrupted"; readonly sentences: readonly string[] };

/** Told apart from failures of the store, whose words are not loaded for a command that only calls. */
export class CallError extends FailureError<CallFailure> {}

export function callFailure(failure: CallFailure, options?: ErrorOptions): CallError {
  return new CallError(failure, options);
}

export function isCallFailure(problem: unknown, kind: CallFailure["kind"]): problem is CallError {
  return problem instanceof CallError && problem.failure.kind === kind;
}
