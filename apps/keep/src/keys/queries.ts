import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultRef } from "./vault-ref.ts";

/** Records the key as active if the database has none; returns the active one, which another node may have recorded. */
export async function readOrRecordActiveKey(
  database: Pick<Database, "query">,
  fingerprint: string,
): Promise<string> {
  await database.query({
    text: "INSERT INTO key_encryption_key (fingerprint, status) SELECT $1, 'active' WHERE NOT EXISTS (SELECT FROM key_encryption_key) ON CONFLICT DO NOTHING",
    values: [fingerprint],
  });
  const [active] = await database.query<{ fingerprint: string }>({
    text: "SELECT fingerprint FROM key_encryption_key WHERE status = 'active'",
  });
  if (active === undefined) throw new Error("No active key-encryption key: all are retired");
  return active.fingerprint;
}

/** Retires the active key and activates this one, in one transaction. False when this key was retired before. */
export async function activateKey(
  database: Pick<Database, "inTransaction">,
  fingerprint: string,
): Promise<boolean> {
  return database.inTransaction(async (transaction) => {
    // Serializes nodes that start at the same time.
    await transaction.query({ text: "LOCK TABLE key_encryption_key IN SHARE ROW EXCLUSIVE MODE" });
    const [known] = await transaction.query<{ status: string }>({
      text: "SELECT status FROM key_encryption_key WHERE fingerprint = $1",
      values: [fingerprint],
    });
    // Active: another node that started at the same time was first.
    if (known !== undefined) return known.status === "active";
    await transaction.query({
      text: "UPDATE key_encryption_key SET status = 'retired' WHERE status = 'active'",
    });
    await transaction.query({
      text: "INSERT INTO key_encryption_key (fingerprint, status) VALUES ($1, 'active')",
      values: [fingerprint],
    });
    return true;
  });
}

export type WrappedKey = {
  readonly version: number;
  readonly kekFingerprint: string;
  readonly wrapped: Buffer;
};

export type WrappedVaultKey = WrappedKey & {
  /** False for a key that was wrapped before wraps named the account. */
  readonly isBound: boolean;
};

export async function insertVaultKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { version, kekFingerprint, wrapped }: WrappedKey,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO vault_key (account_id, vault_id, version, status, kek_fingerprint, wrapped, bound_to_account) VALUES ($1, $2, $3, 'active', $4, $5, true)",
    values: [accountId, vaultId, version, kekFingerprint, wrapped],
  });
}

type KeyRow = { version: number; kek_fingerprint: string; wrapped: Buffer };
type VaultKeyRow = KeyRow & { bound_to_account: boolean };
const vaultKeyColumns = "version, kek_fingerprint, wrapped, bound_to_account";

export async function findActiveKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<WrappedVaultKey | undefined> {
  const [row] = await transaction.query<VaultKeyRow>({
    name: "find-active-vault-key",
    text: `SELECT ${vaultKeyColumns} FROM vault_key WHERE account_id = $1 AND vault_id = $2 AND status = 'active'`,
    values: [accountId, vaultId],
  });
  return row === undefined ? undefined : asVaultKey(row);
}

export async function findVaultKey(
  database: Pick<Database, "queryInAccount">,
  { accountId, vaultId }: VaultRef,
  version: number,
): Promise<WrappedVaultKey | undefined> {
  const [row] = await database.queryInAccount<VaultKeyRow>(accountId, {
    name: "find-vault-key",
    // Also needed while the caller holds a connection of its account.
    connection: "system",
    text: `SELECT ${vaultKeyColumns} FROM vault_key WHERE account_id = entered.account::uuid AND vault_id = $2 AND version = $3`,
    values: [vaultId, version],
  });
  return row === undefined ? undefined : asVaultKey(row);
}

export async function findVaultKeyWithin(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  version: number,
): Promise<WrappedVaultKey | undefined> {
  const [row] = await transaction.query<VaultKeyRow>({
    name: "find-vault-key-within",
    text: `SELECT ${vaultKeyColumns} FROM vault_key WHERE account_id = $1 AND vault_id = $2 AND version = $3`,
    values: [accountId, vaultId, version],
  });
  return row === undefined ? undefined : asVaultKey(row);
}

function asVaultKey(row: VaultKeyRow): WrappedVaultKey {
  return { ...asWrapped(row), isBound: row.bound_to_account };
}

function asWrapped({ version, kek_fingerprint: kekFingerprint, wrapped }: KeyRow): WrappedKey {
  return { version, kekFingerprint, wrapped };
}

type ServerKeyPurpose = "sealing" | "signing" | "integrity";

export type ServerKeyRow = WrappedKey & {
  readonly purpose: ServerKeyPurpose;
  readonly publicKey: Buffer | null;
};

export async function listServerKeys(database: Pick<Database, "query">): Promise<readonly ServerKeyRow[]> {
  const rows = await database.query<KeyRow & { purpose: ServerKeyPurpose; public_key: Buffer | null }>({
    text: "SELECT purpose, version, kek_fingerprint, wrapped, public_key FROM server_key ORDER BY purpose, version",
  });
  return rows.map((row) => ({ ...asWrapped(row), purpose: row.purpose, publicKey: row.public_key }));
}

/** Inserts the first key of a purpose; if several nodes insert one concurrently, all use the first. */
export async function insertServerKey(database: Pick<Database, "query">, row: ServerKeyRow): Promise<void> {
  await database.query({
    text: "INSERT INTO server_key (purpose, version, kek_fingerprint, wrapped, public_key) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
    values: [row.purpose, row.version, row.kekFingerprint, row.wrapped, row.publicKey],
  });
}

/** Whether the database has an account. */
export async function hasAccounts(database: Pick<Database, "acrossAccounts">): Promise<boolean> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query({ text: "SELECT account_id FROM account LIMIT 1" }),
  );
  return rows.length > 0;
}

export async function readActiveKey(database: Pick<Database, "query">): Promise<string | undefined> {
  const [row] = await database.query<{ fingerprint: string }>({
    text: "SELECT fingerprint FROM key_encryption_key WHERE status = 'active'",
  });
  return row?.fingerprint;
}

export async function listRetiredKeys(database: Pick<Database, "query">): Promise<readonly string[]> {
  const rows = await database.query<{ fingerprint: string }>({
    text: "SELECT fingerprint FROM key_encryption_key WHERE status = 'retired' ORDER BY created_at",
  });
  return rows.map(({ fingerprint }) => fingerprint);
}

/** Whether anything is still wrapped by this key-encryption key. */
export async function isKeyNeeded(
  database: Pick<Database, "query" | "acrossAccounts">,
  fingerprint: string,
): Promise<boolean> {
  const statement = (table: "server_key" | "vault_key") => ({
    text: `SELECT EXISTS (SELECT FROM ${table} WHERE kek_fingerprint = $1) AS needed`,
    values: [fingerprint],
  });
  const [server] = await database.query<{ needed: boolean }>(statement("server_key"));
  if (server?.needed === true) return true;
  const [vault] = await database.acrossAccounts((transaction) =>
    transaction.query<{ needed: boolean }>(statement("vault_key")),
  );
  return vault?.needed === true;
}

export type KeyRef = VaultRef & { readonly version: number };

/** Data keys of all accounts that are wrapped by this key-encryption key; the page after `after`. */
export async function listKeysWrappedBy(
  database: Pick<Database, "acrossAccounts">,
  fingerprint: string,
  after: KeyRef | undefined,
): Promise<readonly KeyRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<KeyRef>({
      text: `SELECT account_id AS "accountId", vault_id AS "vaultId", version FROM vault_key WHERE kek_fingerprint = $1 AND ($2::uuid IS NULL OR (account_id, vault_id, version) > ($2, $3::uuid, $4::int)) ORDER BY account_id, vault_id, version LIMIT 500`,
      values: [fingerprint, after?.accountId ?? null, after?.vaultId ?? null, after?.version ?? null],
    }),
  );
}

/** Data keys of all accounts whose wraps do not name the account yet, a page at a time. */
export async function listUnboundKeys(
  database: Pick<Database, "acrossAccounts">,
  after: KeyRef | undefined,
): Promise<readonly KeyRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<KeyRef>({
      text: `SELECT account_id AS "accountId", vault_id AS "vaultId", version FROM vault_key WHERE NOT bound_to_account AND ($1::uuid IS NULL OR (account_id, vault_id, version) > ($1, $2::uuid, $3::int)) ORDER BY account_id, vault_id, version LIMIT 500`,
      values: [after?.accountId ?? null, after?.vaultId ?? null, after?.version ?? null],
    }),
  );
}

/** Locks the row, so that only one node rewraps it; undefined when it no longer exists. */
export async function lockVaultKey(
  transaction: Transaction,
  { accountId, vaultId, version }: KeyRef,
): Promise<WrappedVaultKey | undefined> {
  const [row] = await transaction.query<VaultKeyRow>({
    text: `SELECT ${vaultKeyColumns} FROM vault_key WHERE account_id = $1 AND vault_id = $2 AND version = $3 FOR NO KEY UPDATE`,
    values: [accountId, vaultId, version],
  });
  return row === undefined ? undefined : asVaultKey(row);
}

/** All data keys of a vault, locked. */
export async function lockVaultKeys(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<readonly WrappedVaultKey[]> {
  const rows = await transaction.query<VaultKeyRow>({
    text: `SELECT ${vaultKeyColumns} FROM vault_key WHERE account_id = $1 AND vault_id = $2 ORDER BY version FOR UPDATE`,
    values: [accountId, vaultId],
  });
  return rows.map(asVaultKey);
}

export async function updateWrappedKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { version, kekFingerprint, wrapped }: WrappedKey,
): Promise<void> {
  await transaction.query({
    text: "UPDATE vault_key SET kek_fingerprint = $4, wrapped = $5, bound_to_account = true WHERE account_id = $1 AND vault_id = $2 AND version = $3",
    values: [accountId, vaultId, version, kekFingerprint, wrapped],
  });
}

/** Does nothing when another node has already rewrapped it. */
export async function updateWrappedServerKey(
  database: Pick<Database, "query">,
  { purpose, version, kekFingerprint, wrapped }: Omit<ServerKeyRow, "publicKey">,
  before: string,
): Promise<void> {
  await database.query({
    text: "UPDATE server_key SET kek_fingerprint = $3, wrapped = $4 WHERE purpose = $1 AND version = $2 AND kek_fingerprint = $5",
    values: [purpose, version, kekFingerprint, wrapped, before],
  });
}

/** Returns the version of the key that was active. */
export async function retireActiveKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<number | undefined> {
  const [row] = await transaction.query<{ version: number }>({
    text: "UPDATE vault_key SET status = 'retired' WHERE account_id = $1 AND vault_id = $2 AND status = 'active' RETURNING version",
    values: [accountId, vaultId],
  });
  return row?.version;
}

/** For metrics: running operations of all accounts. */
export async function countRunningOperations(database: Pick<Database, "acrossAccounts">): Promise<number> {
  return database.acrossAccounts(async (transaction) => {
    const [row] = await transaction.query<{ running: number }>({
      text: "SELECT count(*)::integer AS running FROM operation WHERE state = 'running'",
    });
    return row?.running ?? 0;
  });
}
