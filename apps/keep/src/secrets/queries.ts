import { prefixCondition } from "../authorization/path-patterns.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultRef } from "../keys/vault-keys.ts";

export type SecretType = "text" | "json" | "binary" | "file";

/** A row of `secret`, with the size of its current version. */
export type SecretRow = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly type: SecretType;
  readonly current_version: number;
  readonly revision: number;
  readonly tags: readonly string[];
  readonly note_sealed: Buffer | null;
  /** The egress rule as JSON; null without one. */
  readonly egress: string | null;
  readonly destroyed_versions: readonly number[];
  /** The data key of the note and the MAC. */
  readonly key_version: number;
  readonly mark: Buffer;
  readonly size: number;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly updated_by: string;
  readonly deleted_at: Date | null;
};

/** The columns that lists show. */
export type SecretMetadataRow = Omit<
  SecretRow,
  "note_sealed" | "destroyed_versions" | "key_version" | "mark"
> & {
  readonly has_note: boolean;
};

/** With the vault's revision, to compare the row with the vault's head. */
export type SecretForUpdate = SecretRow & { readonly vault_revision: number };

/**
 * A secret joined with one of its versions, for `decryptVersions`. The version's columns are null when it does not
 * exist.
 */
export type ValueRow = Omit<SecretForUpdate, "size" | "created_at" | "updated_at" | "updated_by"> & {
  readonly version: number | null;
  readonly version_type: SecretType | null;
  readonly version_key: number | null;
  /** The encrypted value; null after the version was destroyed. */
  readonly sealed: Buffer | null;
};

const baseColumns =
  "secret.id, secret.folder, secret.name, secret.type, secret.current_version, secret.revision::float8 AS revision, secret.tags, secret.egress, secret.deleted_at";
const macColumns =
  "secret.note_sealed, secret.destroyed_versions, secret.key_version, secret.mark, vault.revision::float8 AS vault_revision";
const dateColumns =
  "coalesce(version.size, 0) AS size, secret.created_at, secret.updated_at, secret.updated_by";
export const joinCurrentVersion =
  "LEFT JOIN secret_version AS version ON version.account_id = secret.account_id AND version.vault_id = secret.vault_id AND version.secret_id = secret.id AND version.version = secret.current_version";
const joinVault = "JOIN vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id";
export const pathExpression =
  "(CASE secret.folder WHEN '/' THEN '/' ELSE secret.folder || '/' END || secret.name)";

/** For comparisons in any case: the collation of paths changes the case of ASCII letters only. */
export function lowerCase(expression: string): string {
  return `lower((${expression}) COLLATE "default")`;
}

export const listColumns = `${baseColumns}, secret.note_sealed IS NOT NULL AS has_note, ${dateColumns}`;

/** The folder and name of a page's last secret. */
export type PathCursor = readonly [folder: string, name: string] | null;

/** Undefined also when the vault does not exist. */
export async function findSecretMetadata(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  locator: { readonly id: string } | { readonly folder: string; readonly name: string },
): Promise<SecretMetadataRow | undefined> {
  const isById = "id" in locator;
  const [row] = await database.queryInAccount<SecretMetadataRow>(accountId, {
    name: isById ? "find-secret-by-id" : "find-secret-by-path",
    text: `SELECT ${listColumns} FROM live_secret AS secret JOIN live_vault AS vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id ${joinCurrentVersion} WHERE secret.account_id = entered.account::uuid AND secret.vault_id = $2 AND ${isById ? "secret.id = $3" : "secret.folder = $3 AND secret.name = $4"}`,
    values: [vaultId, ...(isById ? [locator.id] : [locator.folder, locator.name])],
  });
  return row;
}

export type SecretLocator =
  | { readonly id: string }
  | { readonly folder: string; readonly name: string }
  /** Everything in a folder and its subfolders. */
  | { readonly within: string };

/** For a change, under the vault's lock. A lookup by id also finds soft-deleted secrets; by path, only live ones. */
export async function findSecrets(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  locator: SecretLocator,
): Promise<readonly SecretForUpdate[]> {
  const { name, condition, values } = conditionFor(locator);
  return transaction.query<SecretForUpdate>({
    name,
    text: `SELECT ${baseColumns}, ${macColumns}, ${dateColumns} FROM secret ${joinVault} ${joinCurrentVersion} WHERE secret.account_id = $1 AND secret.vault_id = $2 AND ${condition}`,
    values: [accountId, vaultId, ...values],
  });
}

type LocatorCondition = {
  /** Of the statement. */
  readonly name: string;
  readonly condition: string;
  readonly values: readonly string[];
};

function conditionFor(locator: SecretLocator): LocatorCondition {
  if ("id" in locator)
    return { name: "find-secret-to-change", condition: "secret.id = $3", values: [locator.id] };
  if ("name" in locator) {
    return {
      name: "find-secret-at-path",
      condition: "secret.folder = $3 AND secret.name = $4 AND secret.deleted_at IS NULL",
      values: [locator.folder, locator.name],
    };
  }
  return {
    name: "find-secrets-within",
    condition:
      "(secret.folder = $3 OR starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END)) AND secret.deleted_at IS NULL",
    values: [locator.within],
  };
}

const ownVault = "secret.account_id = entered.account::uuid AND secret.vault_id = $2";

/** The lateral join looks the version up by its number in the index, however many versions a secret has. */
function selectValues(condition: string, version: string, sealed = "version.sealed"): string {
  return (
    `SELECT ${baseColumns}, ${macColumns}, version.version, version.version_type, version.version_key, ${sealed}` +
    " FROM live_secret AS secret JOIN live_vault AS vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id" +
    " LEFT JOIN LATERAL (SELECT one.version, one.type AS version_type, one.key_version AS version_key, one.sealed FROM secret_version AS one" +
    ` WHERE one.account_id = secret.account_id AND one.vault_id = secret.vault_id AND one.secret_id = secret.id AND one.version = ${version} OFFSET 0) AS version ON true` +
    ` WHERE ${condition}`
  );
}

/** Larger values, all of type file, are not read on the shared connection: other accounts' reads would wait for them. */
const maxSharedBytes = 66_000;
const smallSealed = `CASE WHEN octet_length(version.sealed) <= ${maxSharedBytes} THEN version.sealed END AS sealed, octet_length(version.sealed) > ${maxSharedBytes} AS is_large`;

// CASE instead of coalesce: under row-level security PostgreSQL does not treat coalesce as leakproof, and would scan.
const byId = [
  `${ownVault} AND secret.id = $3`,
  "CASE WHEN $4::int IS NULL THEN secret.current_version ELSE $4 END",
] as const;
const byPath = [`${ownVault} AND secret.folder = $3 AND secret.name = $4`, "secret.current_version"] as const;

const valueById = {
  small: {
    name: "read-small-value-by-id",
    text: selectValues(...byId, smallSealed),
    valueTypes: ["uuid", "uuid", "integer"],
  },
  any: { name: "read-value-by-id", text: selectValues(...byId) },
};
const valueByPath = {
  small: {
    name: "read-small-value-by-path",
    text: selectValues(...byPath, smallSealed),
    valueTypes: ["uuid", "text", "text"],
  },
  any: { name: "read-value-by-path", text: selectValues(...byPath) },
};

/** A null version means the current one; undefined when the secret does not exist. */
export async function readValueById(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { id, version }: { readonly id: string; readonly version: number | null },
): Promise<ValueRow | undefined> {
  return readOneValue(database, accountId, { statements: valueById, values: [vaultId, id, version] });
}

export async function readValueByPath(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<ValueRow | undefined> {
  return readOneValue(database, accountId, { statements: valueByPath, values: [vaultId, folder, name] });
}

async function readOneValue(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  { statements, values }: { readonly statements: typeof valueById; readonly values: readonly unknown[] },
): Promise<ValueRow | undefined> {
  const [row] = await database.queryInAccount<ValueRow & { is_large: boolean | null }>(accountId, {
    ...statements.small,
    connection: "shared",
    values: [...values],
  });
  if (row?.is_large !== true) return row;
  const [complete] = await database.queryInAccount<ValueRow>(accountId, {
    ...statements.any,
    values: [...values],
  });
  return complete;
}

export type ValueSearch = {
  readonly folder: string;
  readonly recursive: boolean;
  /** Null selects every name. */
  readonly names: readonly string[] | null;
  /** From `pathPrefixes`; null selects every path. */
  readonly prefixes: readonly string[] | null;
  readonly limit: number;
};

const valueSearchCondition = `${ownVault} AND (secret.folder = $3 OR ($4 AND starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END))) AND ($5::text[] IS NULL OR secret.name = ANY ($5)) AND ${prefixCondition(pathExpression, "$6")}`;

function valueSearchParameters(vaultId: string, search: Omit<ValueSearch, "limit">): unknown[] {
  return [vaultId, search.folder, search.recursive, search.names, search.prefixes];
}

export type ValueSize = Pick<SecretRow, "id" | "folder" | "name" | "size">;

/** Queried before any value is fetched. Ordered by folder and name; the page after `after`. */
export async function listValueSizes(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  {
    after,
    ids,
    ...search
  }: ValueSearch & { readonly after: PathCursor; readonly ids: readonly string[] | null },
): Promise<readonly ValueSize[]> {
  const values = [
    ...valueSearchParameters(vaultId, search),
    search.limit,
    after?.[0] ?? null,
    after?.[1] ?? null,
  ];
  // Statements of their own, so that ids are found by the primary key.
  const [name, idCondition, idParameters] =
    ids === null
      ? ["list-value-sizes", "", []]
      : ["list-value-sizes-by-id", "AND secret.id = ANY ($10::uuid[])", [ids]];
  return database.queryInAccount<ValueSize>(accountId, {
    name,
    text: `SELECT secret.id, secret.folder, secret.name, coalesce(version.size, 0) AS size FROM live_secret AS secret ${joinCurrentVersion} WHERE ${valueSearchCondition} AND ($8::text IS NULL OR (secret.folder, secret.name) > ($8::text COLLATE "C", $9::text COLLATE "C")) ${idCondition} ORDER BY secret.folder, secret.name LIMIT $7`,
    values: [...values, ...idParameters],
  });
}

/** Current versions of these secrets, as far as they still match the search, ordered by folder and name. */
export async function readValueRows(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  { ids, ...search }: Omit<ValueSearch, "limit"> & { readonly ids: readonly string[] },
): Promise<readonly ValueRow[]> {
  return database.queryInAccount<ValueRow>(accountId, {
    name: "read-values",
    text: `${selectValues(`${valueSearchCondition} AND secret.id = ANY ($7::uuid[])`, "secret.current_version")} ORDER BY secret.folder, secret.name`,
    values: [...valueSearchParameters(vaultId, search), ids],
  });
}

type RowDates = { readonly created_at: Date; readonly updated_at: Date; readonly deleted_at: Date | null };
export type StoredSecret = Omit<SecretRow, keyof RowDates | "size">;

export async function insertSecretRow(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  row: StoredSecret,
): Promise<RowDates> {
  const [dates] = await transaction.query<RowDates>({
    name: "insert-secret",
    text: "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, tags, note_sealed, destroyed_versions, key_version, mark, updated_by, egress) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING created_at, updated_at, deleted_at",
    values: [accountId, vaultId, ...columnValues(row)],
  });
  if (dates === undefined) throw new Error("INSERT returned no row");
  return dates;
}

/** `daysLeft` is the time until the purge; null for a live secret. */
export async function updateSecretRow(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { daysLeft, ...row }: StoredSecret & { readonly daysLeft: number | null },
): Promise<RowDates> {
  const [dates] = await transaction.query<RowDates>({
    name: "update-secret",
    text: "UPDATE secret SET folder = $4, name = $5, type = $6, current_version = $7, revision = $8, tags = $9, note_sealed = $10, destroyed_versions = $11, key_version = $12, mark = $13, updated_by = $14, egress = $15, updated_at = now(), deleted_at = CASE WHEN $16::int IS NULL THEN NULL ELSE now() END, purge_after = now() + make_interval(days => $16::int) WHERE account_id = $1 AND vault_id = $2 AND id = $3 RETURNING created_at, updated_at, deleted_at",
    values: [accountId, vaultId, ...columnValues(row), daysLeft],
  });
  if (dates === undefined) throw new Error("A secret disappeared while its vault was locked");
  return dates;
}

function columnValues(row: StoredSecret): unknown[] {
  return [
    row.id,
    row.folder,
    row.name,
    row.type,
    row.current_version,
    row.revision,
    row.tags,
    row.note_sealed,
    row.destroyed_versions,
    row.key_version,
    row.mark,
    row.updated_by,
    row.egress,
  ];
}

/** For a key rotation: content and revision do not change. */
export async function updateSecretEncryption(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { id, key_version, note_sealed, mark }: Pick<SecretRow, "id" | "key_version" | "note_sealed" | "mark">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret SET key_version = $4, note_sealed = $5, mark = $6 WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id, key_version, note_sealed, mark],
  });
}

/** Blocks changes to the vault until the transaction ends, without incrementing its revision. */
export async function lockVaultRow(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<void> {
  await transaction.query({
    text: "SELECT FROM vault WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE",
    values: [accountId, vaultId],
  });
}

/** Deletes the secret and its versions; returns the bytes of their ciphertexts. */
export async function deleteSecretRows(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  id: string,
): Promise<number> {
  const versions = await transaction.query<{ bytes: number }>({
    text: "DELETE FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3 RETURNING coalesce(octet_length(sealed), 0) AS bytes",
    values: [accountId, vaultId, id],
  });
  await transaction.query({
    text: "DELETE FROM secret WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id],
  });
  return versions.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** By the database's clock. */
export async function isSecretPurgeDue(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  id: string,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM secret WHERE account_id = $1 AND vault_id = $2 AND id = $3 AND purge_after <= now()",
    values: [accountId, vaultId, id],
  });
  return rows.length === 1;
}
