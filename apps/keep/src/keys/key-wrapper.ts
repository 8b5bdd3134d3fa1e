import type { KeyObject } from "node:crypto";
import type { AssociatedData } from "@hearth-and-keep/envelope-crypto";

/**
 * Wraps and unwraps keys with the key-encryption key. The only implementation reads that key from the settings; a key
 * management service could be another. Keys are passed as KeyObjects, whose bytes are outside the JavaScript heap.
 */
export type KeyWrapper = {
  /** The key that wraps. */
  readonly fingerprint: string;
  /** Every key that can unwrap, starting with the one above. */
  readonly fingerprints: readonly string[];
  wrap(key: KeyObject, associatedData: AssociatedData): Promise<Buffer>;
  /** `fingerprint` names the key that wrapped it. */
  unwrap(wrapped: Uint8Array, associatedData: AssociatedData, fingerprint: string): Promise<KeyObject>;
};

/** Includes the fingerprint, so that a wrapped key cannot be attributed to another key-encryption key. */
export function vaultKeyAssociatedData(
  vaultId: string,
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["vault-key", vaultId, version, fingerprint];
}
