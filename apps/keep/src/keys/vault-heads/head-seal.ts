/**
 * @module
 * The head of a vault: one sealed value in the vault's row that covers the revision of every secret in it. Guarantees
 * that a secret's row which was put back, removed or added outside Keep is not accepted, although its own MAC is valid.
 * Imported by `secrets/` and `vaults/`, which check and update the head, and by `commands/`.
 */
import type { KeyObject } from "node:crypto";
import {
  type AssociatedData,
  computeMac,
  decrypt,
  deriveMacKey,
  encrypt,
  IntegrityError,
} from "@hearth-and-keep/envelope-crypto";
import type { VaultRef } from "../vault-ref.ts";

/** The columns of a vault that its head authenticates. */
export type HeadedVault = {
  readonly kind: "personal" | "project";
  readonly name: string;
  readonly revision: number;
  readonly demands_preconditions: boolean;
  readonly most_versions: number;
  readonly prunes_versions: boolean;
  readonly environments: readonly string[];
  readonly base_folder: string | null;
  readonly protected_paths: readonly string[];
  readonly decided_changes: number;
  readonly deleted_at: Date | null;
};

/**
 * The sum of one keyed hash per secret, modulo 2^256 (MSet-Add-Hash, Clarke et al. 2003): a change of one secret costs
 * one subtraction and one addition, however many there are.
 */
export type HeadSeal = {
  /** The hash of one secret. */
  hashOf(vaultRef: VaultRef, secretId: string, revision: number): bigint;
  /** Encrypted, because sums of known rows could be combined to the sum of others. */
  seal(vaultRef: VaultRef, vault: HeadedVault, sum: bigint): Buffer;
  /** Throws IntegrityError unless the head was sealed for this vault with exactly these columns. */
  open(vaultRef: VaultRef, vault: HeadedVault, head: Buffer | null): bigint;
};

const sumBits = 256;

export function createHeadSeal(integrityKey: KeyObject): HeadSeal {
  const macKey = deriveMacKey(integrityKey);
  return {
    hashOf: ({ accountId, vaultId }, secretId, revision) =>
      toNumber(computeMac(macKey, ["secret-revision", accountId, vaultId, secretId, revision])),
    seal: (vaultRef, vault, sum) => encrypt(toBytes(sum), integrityKey, associatedData(vaultRef, vault)),
    open(vaultRef, vault, head) {
      if (head === null) throw new IntegrityError();
      return toNumber(decrypt(head, integrityKey, associatedData(vaultRef, vault)));
    },
  };
}

/** Keeps a sum within its bits; also after a subtraction. */
export function wrapSum(sum: bigint): bigint {
  return BigInt.asUintN(sumBits, sum);
}

function toNumber(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

function toBytes(sum: bigint): Buffer {
  return Buffer.from(sum.toString(16).padStart(sumBits / 4, "0"), "hex");
}

function associatedData({ accountId, vaultId }: VaultRef, vault: HeadedVault): AssociatedData {
  return [
    "vault-head",
    accountId,
    vaultId,
    vault.revision,
    vault.kind,
    vault.name,
    vault.demands_preconditions ? "demands-preconditions" : "",
    vault.most_versions,
    vault.deleted_at === null ? "live" : "deleted",
    // Heads that were sealed before vaults could prune remain valid: those vaults do not.
    ...(vault.prunes_versions ? ["prunes-versions"] : []),
    // As above, for vaults without environments.
    ...(vault.environments.length > 0 || vault.base_folder !== null
      ? ["environments", JSON.stringify([vault.environments, vault.base_folder])]
      : []),
    // As above, for vaults without protected paths.
    ...(vault.protected_paths.length > 0 || vault.decided_changes > 0
      ? ["protected-paths", JSON.stringify([vault.protected_paths, vault.decided_changes])]
      : []),
  ];
}
