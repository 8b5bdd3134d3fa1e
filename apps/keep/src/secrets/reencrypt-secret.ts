import { decrypt, encrypt } from "@hearth-and-keep/envelope-crypto";
import type { Transaction } from "../database/transaction.ts";
import type { VaultHeads } from "../keys/vault-heads/vault-heads.ts";
import type { DataKey, VaultKeys } from "../keys/vault-keys.ts";
import { findSecrets, lockVaultRow, type SecretRow, updateSecretEncryption } from "./queries.ts";
import {
  assertGenuine,
  computeSecretMac,
  noteAssociatedData,
  valueAssociatedData,
  wrapIntegrityError,
  wrapLoadError,
} from "./secret-mac.ts";
import {
  type EncryptedVersion,
  findVersion,
  listVersionsUnderOtherKeys,
  type SecretRef,
  updateVersionEncryption,
} from "./versions/queries.ts";

export type ReencryptOptions = {
  /** The data key to encrypt with. */
  readonly to: DataKey;
  readonly vaultKeys: Pick<VaultKeys, "ofVersionWithin">;
  readonly vaultHeads: Pick<VaultHeads, "assertCurrentWithin">;
};

/**
 * Re-encrypts a secret's versions and note with another data key of its vault and recomputes its MAC. The content does
 * not change, so neither do the revision and the audit chain. Waits for concurrent changes of the vault. Returns the
 * number of re-encrypted rows: 0 when the secret is gone or already uses the key. Throws SecretIntegrityError for a
 * tampered row, which must not get a valid MAC.
 */
export async function reencryptSecret(
  transaction: Transaction,
  secretRef: SecretRef,
  { to, vaultKeys, vaultHeads }: ReencryptOptions,
): Promise<number> {
  await lockVaultRow(transaction, secretRef);
  const [secret] = await findSecrets(transaction, secretRef, { id: secretRef.secretId });
  if (secret === undefined) return 0;
  const keyOf = (version: number) =>
    wrapLoadError(secretRef.secretId, vaultKeys.ofVersionWithin(transaction, secretRef, version));
  const from = await keyOf(secret.key_version);
  await wrapLoadError(secret.id, vaultHeads.assertCurrentWithin(transaction, secretRef, secret));
  assertGenuine(secretRef.vaultId, secret, from);
  const versions = await listVersionsUnderOtherKeys(transaction, secretRef, to.version);
  // One at a time: all versions of a file together may not fit in this node's memory.
  for (const version of versions) {
    const row = await findVersion(transaction, secretRef, version);
    if (row === undefined) continue;
    const oldKey = await keyOf(row.key_version);
    const ciphertext = reencryptValue(secretRef, row, { from: oldKey, to });
    await updateVersionEncryption(transaction, secretRef, { version, keyVersion: to.version, ciphertext });
  }
  if (secret.key_version === to.version) return versions.length;
  const reencrypted = {
    ...secret,
    key_version: to.version,
    note_sealed: reencryptNote(secretRef.vaultId, secret, { from, to }),
  };
  await updateSecretEncryption(transaction, secretRef, {
    ...reencrypted,
    mark: computeSecretMac(secretRef.vaultId, reencrypted, to),
  });
  return versions.length + 1;
}

type KeyChange = { readonly from: DataKey; readonly to: DataKey };

function reencryptValue(
  { vaultId, secretId }: SecretRef,
  { version, type, sealed: ciphertext }: EncryptedVersion,
  { from, to }: KeyChange,
): Buffer | null {
  if (ciphertext === null) return null;
  const associatedData = (keyVersion: number) =>
    valueAssociatedData({ vaultId, secretId, version, keyVersion, type });
  const value = wrapIntegrityError(secretId, () =>
    decrypt(ciphertext, from.key, associatedData(from.version)),
  );
  try {
    return encrypt(value, to.key, associatedData(to.version));
  } finally {
    value.fill(0);
  }
}

function reencryptNote(
  vaultId: string,
  { id, note_sealed: ciphertext }: SecretRow,
  { from, to }: KeyChange,
): Buffer | null {
  if (ciphertext === null) return null;
  const note = wrapIntegrityError(id, () =>
    decrypt(ciphertext, from.key, noteAssociatedData(vaultId, id, from.version)),
  );
  return encrypt(note, to.key, noteAssociatedData(vaultId, id, to.version));
}
