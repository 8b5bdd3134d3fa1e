import { FailureError } from "@hearth-and-keep/failures";

/** Everything that can be expected to go wrong with stored models. No text in it holds a path or a system's error. */
export type ModelFailure =
  | { readonly kind: "name-invalid"; readonly name: string }
  | { readonly kind: "digest-invalid"; readonly digest: string }
  | { readonly kind: "model-not-found"; readonly model: string }
  /** The name stands for a model on somebody else's machines, which this server does not call. */
  | { readonly kind: "model-remote"; readonly model: string }
  | { readonly kind: "blob-missing"; readonly digest: string }
  | { readonly kind: "digest-mismatch"; readonly expected: string; readonly actual: string }
  | { readonly kind: "manifest-invalid"; readonly model: string; readonly reason: string }
  | { readonly kind: "model-file-invalid"; readonly reason: string }
  | { readonly kind: "parameter-invalid"; readonly parameter: string; readonly reason: string }
  | { readonly kind: "store-read-only" }
  | { readonly kind: "store-full" };

export function modelFailure(failure: ModelFailure, options?: ErrorOptions): FailureError<ModelFailure> {
  return new FailureError<ModelFailure>(failure, options);
}
