import { FailureError } from "@hearth-and-keep/failures";

/** Everything that can be expected to go wrong with stored models. No text in it holds a path or a system's error. */
export type ModelFailure =
  | { readonly kind: "name-invalid"; readonly name: string }
  | { readonly kind: "digest-invalid"; readonly digest: string }
  | { readonly kind: "model-not-found"; readonly model: string }
  /** The name stands for a model on somebody else's machines, which this server does not call. */
  | { readonly kind: "model-remote"; readonly model: string }
  /** It runs on engines that the operator named; nothing of it lies here to be copied, pushed or removed. */
  | { readonly kind: "model-elsewhere"; readonly model: string }
  | { readonly kind: "blob-missing"; readonly digest: string }
  | { readonly kind: "digest-mismatch"; readonly expected: string; readonly actual: string }
  | { readonly kind: "manifest-invalid"; readonly model: string; readonly reason: string }
  | { readonly kind: "model-file-invalid"; readonly reason: string }
  | { readonly kind: "parameter-invalid"; readonly parameter: string; readonly reason: string }
  | { readonly kind: "store-read-only" }
  | { readonly kind: "store-full" }
  /** Its disk says that it cannot read or write. */
  | { readonly kind: "store-failing" }
  /** Neither files nor another model to make it from. */
  | { readonly kind: "model-of-nothing" }
  /** A file that only the program which converted it can read; the advice names what to pull instead. */
  | { readonly kind: "file-dialect-private"; readonly architecture: string; readonly advice: string }
  | TransferFailure;

/** The folder that a person named for a store cannot be used; told at the terminal alone, in their own words. */
export type StoreFolderFailure = {
  readonly kind: "store-folder-unusable";
  readonly folder: string;
  readonly reason: string;
};

/** What can go wrong between us and a registry. `host` is what the caller or a registry named. */
export type TransferFailure =
  | { readonly kind: "address-forbidden"; readonly host: string; readonly reason: ForbiddenAddress }
  | { readonly kind: "registry-unreachable"; readonly host: string; readonly reason: Unreachable }
  /** It wants credentials that we do not have, or refuses those that we have. */
  | { readonly kind: "registry-refused"; readonly host: string; readonly status: number }
  | { readonly kind: "remote-model-missing"; readonly model: string }
  | { readonly kind: "registry-answer-invalid"; readonly host: string; readonly reason: string }
  /** Everything arrived, and it is not what the manifest promised. */
  | { readonly kind: "transfer-damaged"; readonly digest: string };

/** `private`: this machine or its network, and the host is not listed. `plain`: http without both sides' consent. */
type ForbiddenAddress = "private" | "plain" | "scheme" | "redirects";
type Unreachable = "no-address" | "refused" | "timed-out" | "broken" | "untrusted-certificate";

export function modelFailure(failure: ModelFailure, options?: ErrorOptions): FailureError<ModelFailure> {
  return new FailureError<ModelFailure>(failure, options);
}
