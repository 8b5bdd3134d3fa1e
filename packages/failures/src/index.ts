/**
 * @module
 * How an expected failure travels from where it happens to where it is answered.
 * Each program declares its failures as one closed union in `failures.ts`, throws them inside a FailureError,
 * and maps them with one exhaustive switch per wire format. Anything else that is thrown is a defect.
 * Both programs and all packages may import this.
 */
export { explainFileProblem } from "./explain-file-problem.ts";

export class FailureError<Failure extends { readonly kind: string }> extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.kind, options);
    this.name = "FailureError";
    this.failure = failure;
  }
}
