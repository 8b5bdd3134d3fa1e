import { decrypt } from "@hearth-and-keep/envelope-crypto";
import type { DataKey, VaultRef } from "../keys/vault-keys.ts";
import {
  type AuthenticatedColumns,
  assertGenuine,
  noteAssociatedData,
  SecretIntegrityError,
  valueAssociatedData,
  wrapIntegrityError,
  wrapLoadError,
} from "./secret-mac.ts";
import type { EncryptedVersion } from "./versions/queries.ts";

export type StoredSecret = AuthenticatedColumns & { readonly mark: Buffer };

/** Finds a vault's data key by its version; rejects when it is missing or not genuine. */
type FindKey = (version: number) => Promise<DataKey>;

/** Whether the row has the MAC that Keep computed for it, and its note decrypts. */
export function isGenuineSecret(
  { vaultId }: VaultRef,
  secret: StoredSecret,
  findKey: FindKey,
): Promise<boolean> {
  return isIntact(async () => {
    const rowKey = await wrapLoadError(secret.id, findKey(secret.key_version));
    assertGenuine(vaultId, secret, rowKey);
    const { id, note_sealed: note, key_version } = secret;
    if (note === null) return;
    wrapIntegrityError(id, () =>
      decrypt(note, rowKey.key, noteAssociatedData(vaultId, id, key_version)).fill(0),
    );
  });
}

/** Whether the version is one of the secret's, and its value decrypts as that version; destroyed ones have no value. */
export function isGenuineVersion(
  { vaultId }: VaultRef,
  { secret, version }: { readonly secret: StoredSecret; readonly version: EncryptedVersion },
  findKey: FindKey,
): Promise<boolean> {
  const { id: secretId, current_version, destroyed_versions } = secret;
  const { version: number, type, key_version: keyVersion, sealed } = version;
  return isIntact(async () => {
    const isDestroyed = destroyed_versions.includes(number);
    if (number > current_version || isDestroyed !== (sealed === null))
      throw new SecretIntegrityError(secretId);
    if (sealed === null) return;
    const { key } = await wrapLoadError(secretId, findKey(keyVersion));
    const associatedData = valueAssociatedData({ vaultId, secretId, version: number, keyVersion, type });
    wrapIntegrityError(secretId, () => decrypt(sealed, key, associatedData).fill(0));
  });
}

/** Whether the key can be unwrapped. */
export function isGenuineKey(version: number, findKey: FindKey): Promise<boolean> {
  return isIntact(async () => void (await wrapLoadError(String(version), findKey(version))));
}

async function isIntact(check: () => Promise<void>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (error instanceof SecretIntegrityError) return false;
    throw error;
  }
}
