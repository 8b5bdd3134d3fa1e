import type { KeyObject } from "node:crypto";
import type { AssociatedData } from "@hearth-and-keep/envelope-crypto";
import type { VaultRef } from "./vault-ref.ts";

/**
 * Wraps and unwraps keys with the key-encryption key. Keys are passed as KeyObjects, whose bytes are outside the JavaScript heap.
 */
export type KeyWrapper = {
  /** The key that wraps. */
  readonly fingerprint: string;
  /** Every key that can unwrap. */
  readonly fingerprints: readonly string[];
  /** Whether the first key may replace the active one: not if a program gave it and no fingerprint is pinned. */
  readonly isConfirmed: boolean;
  wrap(key: KeyObject, associatedData: AssociatedData): Promise<Buffer>;
  /** `fingerprint` names the key that wrapped it. */
  unwrap(wrapped: Uint8Array, associatedData: AssociatedData, fingerprint: string): Promise<KeyObject>;
  /** The same keys, of which another one wraps. */
  wrappingWith(fingerprint: string): KeyWrapper;
};

/**
 * Includes the account, so that a vault that was moved to another account does not unwrap, and the fingerprint, so that a
 * wrapped key cannot be attributed to another key-encryption key.
 */
export function vaultKeyAssociatedData(
  { accountId, vaultId }: VaultRef,
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["account-vault-key", accountId, vaultId, version, fingerprint];
}

/** Of keys that were wrapped before wraps named the account. */
export function unboundKeyAssociatedData(
  { vaultId }: VaultRef,
  version: number,
  fingerprint: string,
): AssociatedData {
  return ["vault-key", vaultId, version, fingerprint];
}
