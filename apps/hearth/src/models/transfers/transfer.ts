/**
 * @module
 * Models on their way from a registry to our store and back. Promises that a name appears only when everything it
 * names is here, hashed and on the disk; that what arrived before an interruption is not fetched again; and that
 * every byte from outside is bounded and every address checked. Knows no protocol of ours: a dialect turns progress
 * into its own objects. Imported by dialects and commands.
 */
import type { Digest } from "../store/digest.ts";

export type TransferWish = {
  readonly name: string;
  /** Plain http is meant; only hosts that the settings name as private may be spoken to so. */
  readonly isInsecure: boolean;
  /** Fires when this listener leaves; the work ends with the last one. */
  readonly signal: AbortSignal;
};

/** In the order in which they come; after the last one the model is here, or there. */
export type TransferProgress =
  | { readonly step: "reading-manifest" }
  | {
      readonly step: "moving-layer";
      readonly digest: Digest;
      readonly totalBytes: number;
      /** Absent before the first byte. */
      readonly completedBytes?: number;
    }
  | { readonly step: "verifying" }
  | { readonly step: "writing-manifest" }
  | { readonly step: "removing-unused" };

export type Transfers = {
  /** Throws what keeps the model from being here. */
  pull(wish: TransferWish): AsyncIterable<TransferProgress>;
  push(wish: TransferWish): AsyncIterable<TransferProgress>;
};
