import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultPlace } from "../keys/vault-keys.ts";

export type SecretType = "text" | "json" | "binary" | "file";

/** A secret's row, and the size of its current version. */
export type SecretRow = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly type: SecretType;
  readonly current_version: number;
  readonly revision: number;
  readonly tags: readonly string[];
  readonly note_sealed: Buffer | null;
  readonly destroyed_versions: readonly number[];
  /** Of the note and the mark. */
  readonly key_version: number;
  readonly mark: Buffer;
  readonly size: number;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly updated_by: string;
  readonly deleted_at: Date | null;
};

/** A secret as lists show it. */
export type ListedSecret = Omit<SecretRow, "note_sealed" | "destroyed_versions" | "key_version" | "mark"> & {
  readonly has_note: boolean;
};

/** With what tells whether the row is what was stored last. */
export type FoundSecret = SecretRow & {
  readonly vault_revision: number;
  readonly audited_revision: number | null;
};

/** One secret and one of its versions, as `openVersions` takes them. The version's fields are null when there is none. */
export type ValueRow = Omit<FoundSecret, "size" | "created_at" | "updated_at" | "updated_by"> & {
  readonly version: number | null;
  readonly version_type: SecretType | null;
  readonly version_key: number | null;
  /** Null once it is destroyed. */
  readonly sealed: Buffer | null;
};

const named =
  "secret.id, secret.folder, secret.name, secret.type, secret.current_version, secret.revision::float8 AS revision, secret.tags, secret.deleted_at";
const marked =
  "secret.note_sealed, secret.destroyed_versions, secret.key_version, secret.mark, vault.revision::float8 AS vault_revision," +
  " (SELECT event.revision::float8 FROM audit_event AS event WHERE event.account_id = secret.account_id AND event.chain_id = secret.vault_id AND event.subject_id = secret.id ORDER BY event.revision DESC LIMIT 1) AS audited_revision";
const dated = "coalesce(version.size, 0) AS size, secret.created_at, secret.updated_at, secret.updated_by";
const current =
  "LEFT JOIN secret_version AS version ON version.account_id = secret.account_id AND version.vault_id = secret.vault_id AND version.secret_id = secret.id AND version.version = secret.current_version";
const inVault = "JOIN vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id";
const path = "(CASE secret.folder WHEN '/' THEN '/' ELSE secret.folder || '/' END || secret.name)";

export type SecretSearch = {
  readonly folder: string;
  readonly recursive: boolean;
  /** Part of the path, in whatever case. */
  readonly text: string | null;
  readonly tag: string | null;
  /** Regular expressions of paths, see `reach.ts`; null reaches all. */
  readonly reach: readonly string[] | null;
  readonly limit: number;
};

const wanted =
  `(secret.folder = $3 OR ($4 AND starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END)))` +
  ` AND ($5::text IS NULL OR position(lower($5) IN lower(${path})) > 0) AND ($6::text IS NULL OR secret.tags @> ARRAY[$6::text])` +
  ` AND ($7::text[] IS NULL OR ${path} ~ ANY ($7)) AND secret.account_id = entered.account::uuid AND secret.vault_id = $2`;
const listed = `${named}, secret.note_sealed IS NOT NULL AS has_note, ${dated}`;

function searched(vaultId: string, search: SecretSearch): unknown[] {
  return [vaultId, search.folder, search.recursive, search.text, search.tag, search.reach, search.limit];
}

/** By folder and name, a page after the one that ended with `after`. */
export async function listSecrets(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  { after, ...search }: SecretSearch & { readonly after: readonly [folder: string, name: string] | null },
): Promise<readonly ListedSecret[]> {
  return database.askInAccount<ListedSecret>(accountId, {
    name: "list-secrets",
    text: `SELECT ${listed} FROM live_secret AS secret ${current} WHERE ${wanted} AND ($9::text IS NULL OR (secret.folder, secret.name) > ($9::text COLLATE "C", $10::text COLLATE "C")) ORDER BY secret.folder, secret.name LIMIT $8`,
    values: [...searched(vaultId, search), after?.[0] ?? null, after?.[1] ?? null],
  });
}

/** Those that wait for their end, in the order of their making. */
export async function listDeletedSecrets(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  { after, ...search }: SecretSearch & { readonly after: string | null },
): Promise<readonly ListedSecret[]> {
  return database.askInAccount<ListedSecret>(accountId, {
    name: "list-deleted-secrets",
    text: `SELECT ${listed} FROM secret ${current} WHERE ${wanted} AND secret.deleted_at IS NOT NULL AND ($9::uuid IS NULL OR secret.id > $9) ORDER BY secret.id LIMIT $8`,
    values: [...searched(vaultId, search), after],
  });
}

/** Metadata of one; undefined also when its vault is not there. */
export async function findListed(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  which: { readonly id: string } | { readonly folder: string; readonly name: string },
): Promise<ListedSecret | undefined> {
  const isById = "id" in which;
  const [row] = await database.askInAccount<ListedSecret>(accountId, {
    name: isById ? "find-secret-by-id" : "find-secret-by-path",
    text: `SELECT ${listed} FROM live_secret AS secret JOIN live_vault AS vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id ${current} WHERE secret.account_id = entered.account::uuid AND secret.vault_id = $2 AND ${isById ? "secret.id = $3" : "secret.folder = $3 AND secret.name = $4"}`,
    values: [vaultId, ...(isById ? [which.id] : [which.folder, which.name])],
  });
  return row;
}

export type Whereabouts =
  | { readonly id: string }
  | { readonly folder: string; readonly name: string }
  /** Everything in a folder and in those within it. */
  | { readonly within: string };

/** For a change, in whatever state; what is at a path is live. The vault is locked already. */
export async function findSecrets(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  which: Whereabouts,
): Promise<readonly FoundSecret[]> {
  const [condition, ...values] = conditionFor(which);
  return transaction.query<FoundSecret>({
    text: `SELECT ${named}, ${marked}, ${dated} FROM secret ${inVault} ${current} WHERE secret.account_id = $1 AND secret.vault_id = $2 AND ${condition}`,
    values: [accountId, vaultId, ...values],
  });
}

function conditionFor(which: Whereabouts): [condition: string, ...values: string[]] {
  if ("id" in which) return ["secret.id = $3", which.id];
  if ("name" in which) {
    return [
      "secret.folder = $3 AND secret.name = $4 AND secret.deleted_at IS NULL",
      which.folder,
      which.name,
    ];
  }
  return [
    "(secret.folder = $3 OR starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END)) AND secret.deleted_at IS NULL",
    which.within,
  ];
}

const ownVault = "secret.account_id = entered.account::uuid AND secret.vault_id = $2";

/** The version is looked up by its number, however many there are of a secret. */
function valuesWhere(condition: string, version: string): string {
  return (
    `SELECT ${named}, ${marked}, version.version, version.version_type, version.version_key, version.sealed` +
    " FROM live_secret AS secret JOIN live_vault AS vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id" +
    " LEFT JOIN LATERAL (SELECT one.version, one.type AS version_type, one.key_version AS version_key, one.sealed FROM secret_version AS one" +
    ` WHERE one.account_id = secret.account_id AND one.vault_id = secret.vault_id AND one.secret_id = secret.id AND one.version = ${version} OFFSET 0) AS version ON true` +
    ` WHERE ${condition}`
  );
}

// Not coalesce: under row-level security the database takes that for something that might leak, and scans.
const valueById = valuesWhere(
  `${ownVault} AND secret.id = $3`,
  "CASE WHEN $4::int IS NULL THEN secret.current_version ELSE $4 END",
);
const valueByPath = valuesWhere(
  `${ownVault} AND secret.folder = $3 AND secret.name = $4`,
  "secret.current_version",
);

/** A version of a secret, the current one for null; undefined when there is no such secret. */
export async function readValueById(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  { id, version }: { readonly id: string; readonly version: number | null },
): Promise<ValueRow | undefined> {
  const [row] = await database.askInAccount<ValueRow>(accountId, {
    name: "read-value-by-id",
    isShort: true,
    text: valueById,
    values: [vaultId, id, version],
  });
  return row;
}

export async function readValueByPath(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  { folder, name }: { readonly folder: string; readonly name: string },
): Promise<ValueRow | undefined> {
  const [row] = await database.askInAccount<ValueRow>(accountId, {
    name: "read-value-by-path",
    isShort: true,
    text: valueByPath,
    values: [vaultId, folder, name],
  });
  return row;
}

export type ValueSearch = {
  readonly folder: string;
  readonly recursive: boolean;
  /** Names of secrets; null takes all. */
  readonly names: readonly string[] | null;
  /** Regular expressions of paths, see `reach.ts`; null reaches all. */
  readonly reach: readonly string[] | null;
  readonly limit: number;
};

const ofSearch = `${ownVault} AND (secret.folder = $3 OR ($4 AND starts_with(secret.folder, CASE $3 WHEN '/' THEN '/' ELSE $3 || '/' END))) AND ($5::text[] IS NULL OR secret.name = ANY ($5)) AND ($6::text[] IS NULL OR ${path} ~ ANY ($6))`;

/** How many there are, whatever the limit, and how long together: asked before any is fetched. */
export async function measureValues(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  search: Omit<ValueSearch, "limit">,
): Promise<{ readonly items: number; readonly bytes: number }> {
  const [row] = await database.askInAccount<{ items: number; bytes: number }>(accountId, {
    name: "measure-values",
    text: `SELECT count(*)::float8 AS items, coalesce(sum(version.size), 0)::float8 AS bytes FROM live_secret AS secret ${current} WHERE ${ofSearch}`,
    values: [vaultId, search.folder, search.recursive, search.names, search.reach],
  });
  return row ?? { items: 0, bytes: 0 };
}

/** Current versions of many, by folder and name. */
export async function readValueRows(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  search: ValueSearch,
): Promise<readonly ValueRow[]> {
  return database.askInAccount<ValueRow>(accountId, {
    name: "read-values",
    text: `${valuesWhere(ofSearch, "secret.current_version")} ORDER BY secret.folder, secret.name LIMIT $7`,
    values: [vaultId, search.folder, search.recursive, search.names, search.reach, search.limit],
  });
}

/** Live secrets of the account, counted no further than the limit. */
export async function countSecrets(
  transaction: Transaction,
  accountId: string,
  limit: number,
): Promise<number> {
  const [row] = await transaction.query<{ count: number }>({
    name: "count-secrets",
    text: "SELECT count(*)::float8 AS count FROM (SELECT FROM vault JOIN live_secret AS secret ON secret.vault_id = vault.id AND secret.account_id = vault.account_id WHERE vault.account_id = $1 LIMIT $2) AS counted",
    values: [accountId, limit],
  });
  return row?.count ?? 0;
}

type Dates = { readonly created_at: Date; readonly updated_at: Date; readonly deleted_at: Date | null };
export type StoredSecret = Omit<SecretRow, keyof Dates | "size">;

export async function insertSecret(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  row: StoredSecret,
): Promise<Dates> {
  const [dates] = await transaction.query<Dates>({
    name: "insert-secret",
    text: "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, tags, note_sealed, destroyed_versions, key_version, mark, updated_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING created_at, updated_at, deleted_at",
    values: [accountId, vaultId, ...columnsOf(row)],
  });
  if (dates === undefined) throw new Error("An insert gave no row");
  return dates;
}

/** Days until the end: null for a secret that is live. */
export async function updateSecret(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  { daysLeft, ...row }: StoredSecret & { readonly daysLeft: number | null },
): Promise<Dates> {
  const [dates] = await transaction.query<Dates>({
    name: "update-secret",
    text: "UPDATE secret SET folder = $4, name = $5, type = $6, current_version = $7, revision = $8, tags = $9, note_sealed = $10, destroyed_versions = $11, key_version = $12, mark = $13, updated_by = $14, updated_at = now(), deleted_at = CASE WHEN $15::int IS NULL THEN NULL ELSE now() END, purge_after = now() + make_interval(days => $15::int) WHERE account_id = $1 AND vault_id = $2 AND id = $3 RETURNING created_at, updated_at, deleted_at",
    values: [accountId, vaultId, ...columnsOf(row), daysLeft],
  });
  if (dates === undefined) throw new Error("A secret went away under the lock of its vault");
  return dates;
}

function columnsOf(row: StoredSecret): unknown[] {
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
  ];
}

/** For a sealing with another key, which is no change that anybody sees. */
export async function resealRow(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  { id, key_version, note_sealed, mark }: Pick<SecretRow, "id" | "key_version" | "note_sealed" | "mark">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE secret SET key_version = $4, note_sealed = $5, mark = $6 WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id, key_version, note_sealed, mark],
  });
}

/** Lets no change to the vault begin until the transaction ends, and counts none. */
export async function holdVault(transaction: Transaction, { accountId, vaultId }: VaultPlace): Promise<void> {
  await transaction.query({
    text: "SELECT FROM vault WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE",
    values: [accountId, vaultId],
  });
}

/** With all of its versions. */
export async function removeSecret(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  id: string,
): Promise<void> {
  await transaction.query({
    text: "DELETE FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND secret_id = $3",
    values: [accountId, vaultId, id],
  });
  await transaction.query({
    text: "DELETE FROM secret WHERE account_id = $1 AND vault_id = $2 AND id = $3",
    values: [accountId, vaultId, id],
  });
}

/** Whether its time is over, by the database's clock. */
export async function isSecretDue(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  id: string,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM secret WHERE account_id = $1 AND vault_id = $2 AND id = $3 AND purge_after <= now()",
    values: [accountId, vaultId, id],
  });
  return rows.length === 1;
}
