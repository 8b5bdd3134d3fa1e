import { FailureError } from "@hearth-and-keep/failures";

/** Expected failures of model operations. None of their texts contains a path or a system error. */
export type ModelFailure =
  | { readonly kind: "name-invalid"; readonly name: string }
  | { readonly kind: "digest-invalid"; readonly digest: string }
  | { readonly kind: "model-not-found"; readonly model: string }
  /** A cloud model, which runs on its publisher's servers; this server does not call them. */
  | { readonly kind: "model-remote"; readonly model: string }
  /** Runs on remote engines from the engines file, so there are no files to copy, push or remove. */
  | { readonly kind: "model-on-remote-engine"; readonly model: string }
  | { readonly kind: "blob-missing"; readonly digest: string }
  | { readonly kind: "digest-mismatch"; readonly expected: string; readonly actual: string }
  | { readonly kind: "manifest-invalid"; readonly model: string; readonly reason: string }
  | { readonly kind: "model-file-invalid"; readonly reason: string }
  | { readonly kind: "parameter-invalid"; readonly parameter: string; readonly reason: string }
  | { readonly kind: "store-read-only" }
  | { readonly kind: "store-full" }
  /** Another process has been changing the store for too long. */
  | { readonly kind: "store-busy" }
  /** The disk reported an I/O error. */
  | { readonly kind: "store-io-error" }
  /** A create request with neither files nor a base model. */
  | { readonly kind: "model-source-missing" }
  /** A GGUF variant that only Ollama can load; the advice names a model to pull instead. */
  | { readonly kind: "file-dialect-unsupported"; readonly architecture: string; readonly advice: string }
  | TransferFailure;

/** The engines of the model are not in the operator's own network, and `--no-remote` is set. */
export type RemoteRefusal = { readonly kind: "remote-models-disabled"; readonly model: string };

/** The configured store folder cannot be used. Only printed at the terminal, because it contains a path. */
export type StoreFolderFailure = {
  readonly kind: "store-folder-unusable";
  readonly folder: string;
  readonly reason: string;
};

/** Failures of transfers to and from registries. `host` comes from the request or from a registry's response. */
export type TransferFailure =
  | { readonly kind: "address-forbidden"; readonly host: string; readonly reason: ForbiddenAddress }
  | { readonly kind: "registry-unreachable"; readonly host: string; readonly reason: Unreachable }
  /** A status that ends the transfer, e.g. 401 when credentials are missing or wrong. */
  | { readonly kind: "registry-refused"; readonly host: string; readonly status: number }
  | { readonly kind: "remote-model-not-found"; readonly model: string }
  | { readonly kind: "registry-response-invalid"; readonly host: string; readonly reason: string }
  /** The complete content does not match the manifest's digest. */
  | { readonly kind: "transfer-corrupted"; readonly digest: string };

/** `private`: an address of this machine or its network that is not allowed. `plain`: http that was not requested or not allowed. */
type ForbiddenAddress = "private" | "plain" | "scheme" | "redirects";
type Unreachable = "no-address" | "refused" | "timed-out" | "broken" | "untrusted-certificate";

export function modelFailure(failure: ModelFailure, options?: ErrorOptions): FailureError<ModelFailure> {
  return new FailureError<ModelFailure>(failure, options);
}
