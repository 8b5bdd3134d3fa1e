import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { VaultPlace } from "../../keys/vault-keys.ts";
import type { SecretType } from "../queries.ts";

export type SecretPlace = VaultPlace & { readonly secretId: string };

export type NewVersion = {
  readonly version: number;
  readonly type: SecretType;
  readonly keyVersion: number;
  readonly sealed: Buffer;
  readonly size: number;
  readonly by: string;
};

export async function insertVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretPlace,
  { version, type, keyVersion, sealed, size, by }: NewVersion,
): Promise<void> {
  await transaction.query({
    name: "insert-version",
    text: "INSERT INTO secret_version (account_id, vault_id, secret_id, version, type, key_version, sealed, size, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    values: [accountId, vaultId, secretId, version, type, keyVersion, sealed, size, by],
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

/** The newest first, a page after the one that ended with `before`. */
export async function listVersions(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId, secretId }: SecretPlace,
  page: { readonly before: number | null; readonly limit: number },
): Promise<readonly VersionRow[]> {
  return database.askInAccount<VersionRow>(accountId, {
    name: "list-versions",
    text: "SELECT version, type, size, created_at, created_by, destroyed_at FROM secret_version WHERE account_id = entered.account::uuid AND vault_id = $2 AND secret_id = $3 AND ($4::int IS NULL OR version < $4) ORDER BY version DESC LIMIT $5",
    values: [vaultId, secretId, page.before, page.limit],
  });
}

export type SealedVersion = {
  readonly version: number;
  readonly type: SecretType;
  readonly key_version: number;
  readonly sealed: Buffer | null;
};

export async function findVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretPlace,
  version: number,
): Promise<SealedVersion | undefined> {
  const [row] = await transaction.query<SealedVersion>({
    text: "SELECT version, type, key_version, sealed FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version],
  });
  return row;
}

export async function destroyVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretPlace,
  version: number,
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret_version SET sealed = NULL, destroyed_at = now() WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version],
  });
}

/** Numbers of the versions that another key than this one seals. */
export async function listVersionsUnderOtherKeys(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretPlace,
  keyVersion: number,
): Promise<readonly number[]> {
  const rows = await transaction.query<{ version: number }>({
    text: "SELECT version FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND key_version <> $4 ORDER BY version",
    values: [accountId, vaultId, secretId, keyVersion],
  });
  return rows.map(({ version }) => version);
}

/** A destroyed one has nothing to seal, but names a key as well. */
export async function resealVersion(
  transaction: Transaction,
  { accountId, vaultId, secretId }: SecretPlace,
  { version, keyVersion, sealed }: { version: number; keyVersion: number; sealed: Buffer | null },
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret_version SET key_version = $5, sealed = $6 WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 AND version = $4",
    values: [accountId, vaultId, secretId, version, keyVersion, sealed],
  });
}
