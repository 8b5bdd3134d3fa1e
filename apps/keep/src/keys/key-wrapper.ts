import type { KeyObject } from "node:crypto";
import type { AssociatedData } from "@hearth-and-keep/envelope-crypto";

/**
 * What holds the key-encryption key. From a file or the environment today; a key management service is another one.
 * Keys go in and out as KeyObjects, whose bytes are not in JavaScript's memory.
 */
export type KeyWrapper = {
  /** Which key wraps now. */
  readonly fingerprint: string;
  /** Every key it can unwrap with, the one above first. */
  readonly fingerprints: readonly string[];
  wrap(key: KeyObject, place: AssociatedData): Promise<Buffer>;
  /** By the key that wrapped it. */
  unwrap(wrapped: Uint8Array, place: AssociatedData, fingerprint: string): Promise<KeyObject>;
};

/** Where wrapped keys belong. The fingerprint is part of it, so a wrap is not mistaken for one by another key. */
export function vaultKeyAssociatedData(
  vaultId: string,
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["vault-key", vaultId, version, fingerprint];
}
