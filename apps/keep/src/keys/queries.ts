import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultPlace } from "./vault-keys.ts";

/** Records the first key a database ever sees, and tells which one is active, whoever came first. */
export async function readOrRecordActiveKey(
  database: Pick<Database, "ask">,
  fingerprint: string,
): Promise<string> {
  await database.ask({
    text: "INSERT INTO key_encryption_key (fingerprint, status) SELECT $1, 'active' WHERE NOT EXISTS (SELECT FROM key_encryption_key) ON CONFLICT DO NOTHING",
    values: [fingerprint],
  });
  const [active] = await database.ask<{ fingerprint: string }>({
    text: "SELECT fingerprint FROM key_encryption_key WHERE status = 'active'",
  });
  if (active === undefined) throw new Error("Cannot tell the active key: the table holds retired ones only");
  return active.fingerprint;
}

/** The one that wrapped until now no longer does; the two change places at once. */
export async function makeActive(
  database: Pick<Database, "inTransaction">,
  fingerprint: string,
): Promise<void> {
  await database.inTransaction(async (transaction) => {
    // Nodes that start together take turns.
    await transaction.query({ text: "LOCK TABLE key_encryption_key IN SHARE ROW EXCLUSIVE MODE" });
    await transaction.query({
      text: "UPDATE key_encryption_key SET status = 'retired' WHERE status = 'active'",
    });
    await transaction.query({
      text: "INSERT INTO key_encryption_key (fingerprint, status) VALUES ($1, 'active') ON CONFLICT (fingerprint) DO UPDATE SET status = 'active'",
      values: [fingerprint],
    });
  });
}

export type WrappedKey = {
  readonly version: number;
  readonly kekFingerprint: string;
  readonly wrapped: Buffer;
};

export async function insertVaultKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  { version, kekFingerprint, wrapped }: WrappedKey,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO vault_key (account_id, vault_id, version, status, kek_fingerprint, wrapped) VALUES ($1, $2, $3, 'active', $4, $5)",
    values: [accountId, vaultId, version, kekFingerprint, wrapped],
  });
}

type KeyRow = { version: number; kek_fingerprint: string; wrapped: Buffer };

export async function findActiveKey(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
): Promise<WrappedKey | undefined> {
  const [row] = await transaction.query<KeyRow>({
    name: "find-active-vault-key",
    text: "SELECT version, kek_fingerprint, wrapped FROM vault_key WHERE account_id = $1 AND vault_id = $2 AND status = 'active'",
    values: [accountId, vaultId],
  });
  return row === undefined ? undefined : asWrapped(row);
}

export async function findVaultKey(
  database: Pick<Database, "askInAccount">,
  { accountId, vaultId }: VaultPlace,
  version: number,
): Promise<WrappedKey | undefined> {
  const [row] = await database.askInAccount<KeyRow>(accountId, {
    name: "find-vault-key",
    text: "SELECT version, kek_fingerprint, wrapped FROM vault_key WHERE account_id = entered.account::uuid AND vault_id = $2 AND version = $3",
    values: [vaultId, version],
  });
  return row === undefined ? undefined : asWrapped(row);
}

function asWrapped({ version, kek_fingerprint: kekFingerprint, wrapped }: KeyRow): WrappedKey {
  return { version, kekFingerprint, wrapped };
}

export type ServerKeyRow = WrappedKey & {
  readonly purpose: "sealing" | "signing";
  readonly publicKey: Buffer | null;
};

export async function listServerKeys(database: Pick<Database, "ask">): Promise<readonly ServerKeyRow[]> {
  const rows = await database.ask<KeyRow & { purpose: "sealing" | "signing"; public_key: Buffer | null }>({
    text: "SELECT purpose, version, kek_fingerprint, wrapped, public_key FROM server_key ORDER BY purpose, version",
  });
  return rows.map((row) => ({ ...asWrapped(row), purpose: row.purpose, publicKey: row.public_key }));
}

/** The first of each purpose; when several nodes make one at once, the first of them is everybody's. */
export async function insertServerKey(database: Pick<Database, "ask">, row: ServerKeyRow): Promise<void> {
  await database.ask({
    text: "INSERT INTO server_key (purpose, version, kek_fingerprint, wrapped, public_key) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
    values: [row.purpose, row.version, row.kekFingerprint, row.wrapped, row.publicKey],
  });
}
