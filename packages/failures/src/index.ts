/**
 * @module
 * Expected failures, from where they happen to where they are reported. Each program declares its failures as one
 * closed union in `failures.ts`, throws them inside a FailureError, and maps them with one exhaustive switch per wire
 * format. Any other error is a defect. Also the exit codes that both programs share.
 * Imported by both programs and every package.
 */
export { exitCodes } from "./exit-codes.ts";
export { explainFileError } from "./explain-file-error.ts";

export class FailureError<Failure extends { readonly kind: string }> extends Error {
  override readonly name = "FailureError";
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.failure = failure;
  }
}
