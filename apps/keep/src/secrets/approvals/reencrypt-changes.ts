import { IntegrityError } from "@hearth-and-keep/envelope-crypto";
import { FailureError } from "@hearth-and-keep/failures";
import type { Transaction } from "../../database/transaction.ts";
import type { DataKey, VaultKeys, VaultRef } from "../../keys/vault-keys.ts";
import { reencryptContent } from "./change-content.ts";
import {
  listChangesUnderOtherKeys,
  readEncryptedContent,
  type StoredChange,
  updateEncryptedContent,
} from "./queries.ts";

type Reencryption = { readonly to: DataKey; readonly vaultKeys: Pick<VaultKeys, "ofVersionWithin"> };

/**
 * Re-encrypts the pending changes of a vault, which the caller has locked, with another of its data keys. One that fails
 * its integrity check stays as it is, with its key.
 */
export async function reencryptChanges(
  transaction: Transaction,
  vaultRef: VaultRef,
  { to, vaultKeys }: Reencryption,
): Promise<void> {
  for (const row of await listChangesUnderOtherKeys(transaction, vaultRef, to.version)) {
    const ciphertext = await reencrypt(transaction, row, { to, vaultKeys }).catch(ignoreBroken);
    if (ciphertext !== undefined)
      await updateEncryptedContent(transaction, row, { keyVersion: to.version, ciphertext });
  }
}

async function reencrypt(
  transaction: Transaction,
  row: StoredChange,
  { to, vaultKeys }: Reencryption,
): Promise<Buffer | undefined> {
  const stored = await readEncryptedContent(transaction, row);
  if (stored === undefined) return undefined;
  const from = await vaultKeys.ofVersionWithin(transaction, row, stored.keyVersion);
  return reencryptContent(row, { ciphertext: stored.ciphertext, from, to });
}

function ignoreBroken(error: unknown): undefined {
  if (error instanceof IntegrityError || error instanceof FailureError) return undefined;
  throw error;
}
