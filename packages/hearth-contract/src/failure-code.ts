/**
 * Every `code` that an error of `/api/*` can carry: the kinds of the server's `RequestFailure`, which does not compile
 * when the two lists differ. Codes are stable; clients branch on them and never on the English text beside them.
 */
export const failureCodes = [
  // The request itself.
  "route-not-found",
  "method-not-allowed",
  "body-invalid",
  "request-invalid",
  "parameter-invalid",
  "parameter-out-of-range",
  "capability-missing",
  "image-unreadable",
  "audio-unreadable",
  "not-supported",
  "prompt-too-long",
  "schema-unsupported",
  "grammar-invalid",
  "grammar-too-slow",
  "grammar-rejected",
  "grammars-suspended",
  "template-failed",
  "stored-object-not-found",
  "response-not-stored",
  "batch-storage-full",
  // Access.
  "key-missing",
  "key-invalid",
  "keys-conflict",
  "admin-key-required",
  "site-forbidden",
  "rate-limited",
  "budget-exhausted",
  // Stored models.
  "name-invalid",
  "digest-invalid",
  "digest-mismatch",
  "model-not-found",
  "model-remote",
  "remote-models-disabled",
  "model-on-remote-engine",
  "model-source-missing",
  "model-file-invalid",
  "file-dialect-unsupported",
  "manifest-invalid",
  "blob-missing",
  "store-read-only",
  "store-full",
  "store-busy",
  "store-io-error",
  // Pulls and pushes.
  "address-forbidden",
  "registry-unreachable",
  "registry-refused",
  "registry-response-invalid",
  "remote-model-not-found",
  "transfer-corrupted",
  // Engines and the queue.
  "server-busy",
  "queue-full",
  "server-stopping",
  "model-invalid",
  "model-quarantined",
  "insufficient-memory",
  "load-timed-out",
  "sandbox-unavailable",
  "engine-crashed",
  "engine-hung",
  "gpu-failed",
  "engine-unloaded",
  "engines-unavailable",
  // A bug in the server; the log has the details.
  "internal-error",
] as const;

export type FailureCode = (typeof failureCodes)[number];

const codes: ReadonlySet<unknown> = new Set(failureCodes);

export function isFailureCode(value: unknown): value is FailureCode {
  return codes.has(value);
}
