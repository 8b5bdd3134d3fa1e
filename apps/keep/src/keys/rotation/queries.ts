import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { VaultRef } from "../vault-keys.ts";

export type OperationRow = {
  readonly id: string;
  readonly kind: "rotate-data-key";
  readonly vault_id: string;
  readonly state: "running" | "done" | "failed";
  readonly done_items: string;
  readonly created_at: Date;
  readonly updated_at: Date;
};

const columns = "id, kind, vault_id, state, done_items, created_at, updated_at";

/** Blocks changes to the vault until the transaction ends. */
export async function lockVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<"live" | "deleted" | undefined> {
  const [row] = await transaction.query<{ deleted_at: Date | null }>({
    text: "SELECT deleted_at FROM vault WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE",
    values: [accountId, vaultId],
  });
  if (row === undefined) return undefined;
  return row.deleted_at === null ? "live" : "deleted";
}

/** Undefined when one is already running. */
export async function insertOperation(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  id: string,
): Promise<OperationRow | undefined> {
  const [row] = await transaction.query<OperationRow>({
    text: `INSERT INTO operation (account_id, id, kind, vault_id, state) VALUES ($1, $2, 'rotate-data-key', $3, 'running') ON CONFLICT DO NOTHING RETURNING ${columns}`,
    values: [accountId, id, vaultId],
  });
  return row;
}

export async function findOperation(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  id: string,
): Promise<OperationRow | undefined> {
  const [row] = await database.queryInAccount<OperationRow>(accountId, {
    text: `SELECT ${columns} FROM operation WHERE account_id = entered.account::uuid AND id = $2`,
    values: [id],
  });
  return row;
}

/** An operation in its vault. */
export type OperationRef = VaultRef & { readonly id: string };

/** Not yet claimed, or claimed by a node that has stopped reporting progress. */
const isUnclaimed =
  "state = 'running' AND (updated_at = created_at OR updated_at < now() - interval '5 seconds')";

export async function listWaitingOperations(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly OperationRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<OperationRef>({
      text: `SELECT account_id AS "accountId", vault_id AS "vaultId", id FROM operation WHERE state = 'running' LIMIT 100`,
    }),
  );
}

/** True for the one node that claims the operation. */
export async function claimOperation(
  database: Pick<Database, "inAccount">,
  { accountId, id }: OperationRef,
): Promise<boolean> {
  const rows = await database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: `UPDATE operation SET updated_at = clock_timestamp() WHERE account_id = $1 AND id = $2 AND ${isUnclaimed} RETURNING id`,
      values: [accountId, id],
    }),
  );
  return rows.length === 1;
}

/** Renews the claim and adds to the number of finished items. */
export async function recordProgress(
  transaction: Transaction,
  { accountId, id }: OperationRef,
  items: number,
): Promise<void> {
  await transaction.query({
    name: "record-operation-progress",
    text: "UPDATE operation SET updated_at = clock_timestamp(), done_items = done_items + $3 WHERE account_id = $1 AND id = $2",
    values: [accountId, id, items],
  });
}

export async function finishOperation(
  transaction: Transaction,
  { accountId, id }: OperationRef,
  state: "done" | "failed",
): Promise<void> {
  await transaction.query({
    text: "UPDATE operation SET updated_at = clock_timestamp(), state = $3 WHERE account_id = $1 AND id = $2",
    values: [accountId, id, state],
  });
}

/**
 * Secrets with a note, MAC or version under another data key than the active one, except those that failed.
 * `key_version > 0`, true for every row, makes the indexes of whole vaults apply.
 */
export async function listSecretsToReencrypt(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { active, broken }: { readonly active: number; readonly broken: readonly string[] },
): Promise<readonly string[]> {
  const rows = await transaction.query<{ id: string }>({
    text: "SELECT id FROM (SELECT id FROM secret WHERE account_id = $1 AND vault_id = $2 AND key_version > 0 AND key_version <> $3 UNION SELECT secret_id FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND key_version > 0 AND key_version <> $3) AS waiting WHERE id <> ALL ($4::uuid[]) ORDER BY id LIMIT 50",
    values: [accountId, vaultId, active, broken],
  });
  return rows.map(({ id }) => id);
}

/** Deletes retired data keys that no row uses any more; returns their versions. */
export async function destroyRetiredKeys(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<readonly number[]> {
  const rows = await transaction.query<{ version: number }>({
    text: "DELETE FROM vault_key AS key WHERE account_id = $1 AND vault_id = $2 AND status = 'retired' AND NOT EXISTS (SELECT FROM secret WHERE account_id = $1 AND vault_id = $2 AND key_version > 0 AND key_version = key.version) AND NOT EXISTS (SELECT FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND key_version > 0 AND key_version = key.version) AND NOT EXISTS (SELECT FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND key_version = key.version) RETURNING version",
    values: [accountId, vaultId],
  });
  return rows.map(({ version }) => version);
}
