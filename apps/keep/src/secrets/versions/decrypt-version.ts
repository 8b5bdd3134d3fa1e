import { decrypt } from "@hearth-and-keep/envelope-crypto";
import type { VaultChange } from "../../vaults/open-changes.ts";
import type { SecretRow, SecretType } from "../queries.ts";
import { SecretIntegrityError, valueAssociatedData, wrapIntegrityError } from "../secret-mac.ts";
import { type EncryptedVersion, findVersion } from "./queries.ts";

/** For a change; the caller has verified the secret's row. */
export async function decryptVersion(
  change: VaultChange,
  { id: secretId }: Pick<SecretRow, "id">,
  { version, type, key_version: keyVersion, sealed: ciphertext }: EncryptedVersion,
): Promise<{ readonly value: Buffer; readonly type: SecretType }> {
  if (ciphertext === null) throw new SecretIntegrityError(secretId);
  const { key } = await change.dataKey(keyVersion);
  const { vaultId } = change.vaultRef;
  const associatedData = valueAssociatedData({ vaultId, secretId, version, keyVersion, type });
  return { value: wrapIntegrityError(secretId, () => decrypt(ciphertext, key, associatedData)), type };
}

/** As `decryptVersion`, the current one. */
export async function decryptCurrent(change: VaultChange, secret: SecretRow): Promise<Buffer> {
  const secretRef = { ...change.vaultRef, secretId: secret.id };
  const row = await findVersion(change.transaction, secretRef, secret.current_version);
  if (row === undefined) throw new SecretIntegrityError(secret.id);
  return (await decryptVersion(change, secret, row)).value;
}
