import type { Statement, Transaction } from "../../database/transaction.ts";
import type { VaultRef } from "../vault-ref.ts";
import type { HeadedVault } from "./head-seal.ts";

/** A vault's head, with what it covers. The two lists are null for a vault without secrets. */
export type HeadRow = HeadedVault & {
  readonly head: Buffer | null;
  readonly ids: readonly string[] | null;
  readonly revisions: readonly number[] | null;
};

// `key_version > 0`, true for every row, makes the index of whole vaults apply.
const headText = (account: string): string =>
  "SELECT vault.kind, vault.name, vault.revision::float8 AS revision, vault.demands_preconditions, vault.most_versions, vault.prunes_versions, vault.environments, vault.base_folder, vault.protected_paths, vault.decided_changes, vault.deleted_at, vault.head, covered.ids, covered.revisions" +
  " FROM vault CROSS JOIN LATERAL (SELECT array_agg(secret.id) AS ids, array_agg(secret.revision::float8) AS revisions FROM secret" +
  ` WHERE secret.account_id = ${account} AND secret.vault_id = $2 AND secret.key_version > 0) AS covered` +
  ` WHERE vault.account_id = ${account} AND vault.id = $2`;

const textInAccount = headText("entered.account::uuid");
const textInTransaction = headText("$1");

/** For `Database.queryInAccount`. */
export function readHeadInAccount({ vaultId }: VaultRef): Statement {
  return { name: "read-vault-head", text: textInAccount, values: [vaultId] };
}

/** For a transaction. */
export function readHeadInTransaction({ accountId, vaultId }: VaultRef): Statement {
  return { name: "read-vault-head-within", text: textInTransaction, values: [accountId, vaultId] };
}

/** Locks all vaults of the account against changes. */
export async function lockVaultIds(transaction: Transaction, accountId: string): Promise<readonly string[]> {
  const rows = await transaction.query<{ id: string }>({
    text: "SELECT id FROM vault WHERE account_id = $1 ORDER BY id FOR NO KEY UPDATE",
    values: [accountId],
  });
  return rows.map(({ id }) => id);
}

/** Without a new revision, for a vault that had no head. */
export async function storeHead(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
  head: Buffer,
): Promise<void> {
  await transaction.query({
    text: "UPDATE vault SET head = $3 WHERE account_id = $1 AND id = $2",
    values: [accountId, vaultId, head],
  });
}
