import type { Transaction } from "../../database/transaction.ts";
import type { NewMac } from "../../keys/row-integrity/queries.ts";
import type { VaultRef } from "../../keys/vault-keys.ts";

/** The rest of the transaction, or up to the next call, sees the rows of this account, and no longer those of another. */
export async function enterAccount(transaction: Transaction, accountId: string): Promise<void> {
  await transaction.query({
    name: "enter-account",
    text: "SELECT set_config('keep.account_id', $1, true)",
    values: [accountId],
  });
}

/** What one vault, or an account with all its vaults, stores. */
export type StoredAmounts = {
  readonly liveSecrets: number;
  readonly allSecrets: number;
  readonly storedBytes: number;
};

const amounts =
  'coalesce(sum(live_secrets), 0)::float8 AS "liveSecrets", coalesce(sum(all_secrets), 0)::float8 AS "allSecrets", coalesce(sum(stored_bytes), 0)::float8 AS "storedBytes"';

/** Of one vault, or of all without an id. */
export async function readAmounts(
  transaction: Transaction,
  accountId: string,
  vaultId: string | null,
): Promise<StoredAmounts> {
  const [row] = await transaction.query<StoredAmounts>({
    text: `SELECT ${amounts} FROM vault WHERE account_id = $1 AND ($2::uuid IS NULL OR id = $2)`,
    values: [accountId, vaultId],
  });
  if (row === undefined) throw new Error("Aggregate query returned no row");
  return row;
}

/** Whether changes wait for an approval, or expired without one and are not deleted yet. */
export async function hasPendingChanges(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM proposed_change WHERE account_id = $1 AND vault_id = $2 AND state = 'pending' LIMIT 1",
    values: [accountId, vaultId],
  });
  return rows.length > 0;
}

export async function isRotating(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM operation WHERE account_id = $1 AND vault_id = $2 AND state = 'running' LIMIT 1",
    values: [accountId, vaultId],
  });
  return rows.length > 0;
}

export type NamedRow = { readonly id: string; readonly name: string };

/** Revokes the tokens that are limited to this vault alone. */
export function revokeTokensOfVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<readonly { readonly id: string; readonly reason: string }[]> {
  return transaction.query({
    text: "UPDATE api_token SET revoked_at = now(), revoke_reason = 'vault-transferred' WHERE account_id = $1 AND revoked_at IS NULL AND vault_ids <@ ARRAY[$2::uuid] AND cardinality(vault_ids) > 0 RETURNING id, revoke_reason AS reason",
    values: [accountId, vaultId],
  });
}

type Limited = { readonly table: "api_token" | "trust_rule"; readonly macs: readonly NewMac<string>[] };

/** Removes the vault from those that tokens or trust rules are limited to. */
export async function removeVaultFromLimits(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { table, macs }: Limited,
): Promise<readonly NamedRow[]> {
  if (macs.length === 0) return [];
  return transaction.query<NamedRow>({
    text: `UPDATE ${table} AS stored SET vault_ids = array_remove(stored.vault_ids, $2::uuid), mac = new.mac FROM unnest($3::uuid[], $4::bytea[]) AS new (id, mac) WHERE stored.account_id = $1 AND stored.id = new.id RETURNING stored.id, stored.name`,
    values: [accountId, vaultId, macs.map(({ key }) => key), macs.map(({ mac }) => mac)],
  });
}

export async function deleteTrustRules(
  transaction: Transaction,
  accountId: string,
  ids: readonly string[],
): Promise<readonly NamedRow[]> {
  if (ids.length === 0) return [];
  return transaction.query<NamedRow>({
    text: "DELETE FROM trust_rule WHERE account_id = $1 AND id = ANY ($2) RETURNING id, name",
    values: [accountId, ids],
  });
}

/** Every column but the account. */
export const copiedColumns = {
  vault:
    "id, name, kind, revision, demands_preconditions, most_versions, created_at, updated_at, deleted_at, purge_after, live_secrets, all_secrets, stored_bytes, head, prunes_versions, environments, base_folder, protected_paths, decided_changes",
  vault_key: "vault_id, version, status, kek_fingerprint, wrapped, created_at, bound_to_account",
  folder: "vault_id, path, created_at",
  secret:
    "vault_id, id, folder, name, type, current_version, revision, tags, note_sealed, egress, destroyed_versions, key_version, mark, created_at, updated_at, updated_by, deleted_at, purge_after",
  secret_version:
    "vault_id, secret_id, version, type, key_version, sealed, size, created_at, created_by, destroyed_at",
  operation: "id, kind, vault_id, state, done_items, created_at, updated_at",
} as const;

type CopiedTable = keyof typeof copiedColumns;

/** Where a vault is, and the account to which it goes. */
export type Transfer = { readonly from: VaultRef; readonly to: string };

/**
 * Row-level security shows one account at a time. The rows are read while it is the first one: the second is entered only
 * once all of them were counted, and no row is inserted before. Leaves the transaction in the second account.
 */
const insertInto = (table: CopiedTable, source: string): string => {
  const columns = copiedColumns[table];
  return (
    `WITH source AS MATERIALIZED (${source}), entered AS MATERIALIZED (SELECT set_config('keep.account_id', $3, true) AS account FROM (SELECT count(*) FROM source) AS counted)` +
    `, inserted AS (INSERT INTO ${table} (account_id, ${columns}) SELECT entered.account::uuid, ${columns} FROM entered CROSS JOIN source RETURNING account_id) SELECT count(*)::integer AS rows FROM inserted`
  );
};

type Moved = { readonly rows: number };

/** Copies the rows of a table. */
export async function copyRows(
  transaction: Transaction,
  { from: { accountId, vaultId }, to }: Transfer,
  table: Exclude<CopiedTable, "secret_version">,
): Promise<number> {
  const id = table === "vault" ? "id" : "vault_id";
  await enterAccount(transaction, accountId);
  const [moved] = await transaction.query<Moved>({
    text: insertInto(
      table,
      `SELECT ${copiedColumns[table]} FROM ${table} WHERE account_id = $1 AND ${id} = $2`,
    ),
    values: [accountId, vaultId, to],
  });
  return moved?.rows ?? 0;
}

/** Few enough that a statement ends in time. */
const versionsPerStatement = 100;

/** Moves some versions; returns how many, and 0 once there are none left. `key_version > 0`, true for every row, makes the index of whole vaults apply. */
export async function moveVersions(
  transaction: Transaction,
  { from: { accountId, vaultId }, to }: Transfer,
): Promise<number> {
  await enterAccount(transaction, accountId);
  const chosen = `SELECT ctid FROM secret_version WHERE account_id = $1 AND vault_id = $2 AND key_version > 0 LIMIT ${versionsPerStatement}`;
  const [moved] = await transaction.query<Moved>({
    name: "move-secret-versions",
    text: insertInto(
      "secret_version",
      `DELETE FROM secret_version WHERE ctid = ANY (ARRAY(${chosen})) RETURNING ${copiedColumns.secret_version}`,
    ),
    values: [accountId, vaultId, to],
  });
  return moved?.rows ?? 0;
}

export async function deleteOperations(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<void> {
  await transaction.query({
    text: "DELETE FROM operation WHERE account_id = $1 AND vault_id = $2",
    values: [accountId, vaultId],
  });
}

export async function updateHead(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  { revision, head }: { readonly revision: number; readonly head: Buffer },
): Promise<void> {
  await transaction.query({
    text: "UPDATE vault SET revision = $3, head = $4, updated_at = now() WHERE account_id = $1 AND id = $2",
    values: [accountId, vaultId, revision, head],
  });
}
