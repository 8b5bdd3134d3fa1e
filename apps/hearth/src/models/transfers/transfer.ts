/**
 * @module
 * Pulls models from registries and pushes them. Guarantees that a name appears only when everything it references is
 * downloaded, hashed and synced to disk; that an interrupted download resumes; and that all input is bounded and every
 * address checked. Independent of our wire protocols: a dialect turns progress into its own objects.
 * Imported by dialects and commands.
 */
import type { Digest } from "../store/digest.ts";

export type TransferRequest = {
  readonly name: string;
  /** Use plain http; only hosts that the settings list as private allow it. */
  readonly isInsecure: boolean;
  /** Aborted when this client disconnects; the transfer stops with its last client. */
  readonly signal: AbortSignal;
};

/** Steps in the order in which they occur; the transfer is complete once the iteration ends. */
export type TransferProgress =
  | { readonly step: "reading-manifest" }
  | {
      readonly step: "transferring-layer";
      readonly digest: Digest;
      readonly totalBytes: number;
      /** Absent before the first byte. */
      readonly completedBytes?: number;
    }
  | { readonly step: "verifying" }
  | { readonly step: "writing-manifest" }
  | { readonly step: "removing-unused-blobs" };

export type Transfers = {
  /** Throws when the model cannot be pulled. */
  pull(request: TransferRequest): AsyncIterable<TransferProgress>;
  push(request: TransferRequest): AsyncIterable<TransferProgress>;
};
