import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";
import type { SecretType } from "../queries.ts";

export type SecretRef = VaultRef & { readonly secretId: string };

export type NewVersion = {
  readonly version: number;
  readonly type: SecretType;
  readonly keyVersion: number;
  readonly ciphertext: Buffer;
  readonly size: number;
  readonly by: string;
};

export async function insertVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretRef,
  { version, type, keyVersion, ciphertext, size, by }: NewVersion,
): Promise<void> {
  await transaction.query({
    name: "insert-version",
    text: "INSERT INTO secret_version (account_id, vault_id, secret_id, version, type, key_version, sealed, size, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    values: [accountId, vaultId, secretId, version, type, keyVersion, ciphertext, size, by],
  });
}

export type VersionRow = {
  readonly version: number;
  readonly type: SecretType;
  readonly size: number;
  readonly created_at: Date;
  readonly created_by: string;
  readonly destroyed_at: Date | null;
};

/** Newest first; versions older than `before`. */
export async function listVersions(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId, secretId }: SecretRef,
  page: { readonly before: number | null; readonly limit: number },
): Promise<readonly VersionRow[]> {
  return database.queryInAccount<VersionRow>(accountId, {
    name: "list-versions",
    text: "SELECT version, type, size, created_at, created_by, destroyed_at FROM secret_version WHERE account_id = entered.account::uuid AND vault_id = $2 AND secret_id = $3 AND ($4::int IS NULL OR version < $4) ORDER BY version DESC LIMIT $5",
    values: [vaultId, secretId, page.before, page.limit],
  });
}

export type EncryptedVersion = {
  readonly version: number;
  readonly type: SecretType;
  readonly key_version: number;
  readonly sealed: Buffer | null;
};

export async function findVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretRef,
  version: number,
): Promise<EncryptedVersion | undefined> {
  const [row] = await transaction.query<EncryptedVersion>({
    text: "SELECT version, type, key_version, sealed FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version],
  });
  return row;
}

export async function destroyVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretRef,
  version: number,
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret_version SET sealed = NULL, destroyed_at = now() WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version],
  });
}

/** Numbers of the versions that are encrypted with a different data key. */
export async function listVersionsUnderOtherKeys(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretRef,
  keyVersion: number,
): Promise<readonly number[]> {
  const rows = await transaction.query<{ version: number }>({
    text: "SELECT version FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND key_version <> $4 ORDER BY version",
    values: [accountId, vaultId, secretId, keyVersion],
  });
  return rows.map(({ version }) => version);
}

/** A destroyed version has no value, but its row names a data key too. */
export async function updateVersionEncryption(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretRef,
  { version, keyVersion, ciphertext }: { version: number; keyVersion: number; ciphertext: Buffer | null },
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret_version SET key_version = $5, sealed = $6 WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version, keyVersion, ciphertext],
  });
}
