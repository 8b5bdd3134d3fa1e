import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { Signed } from "../keys/row-integrity/queries.ts";
import type { VaultAccessRow } from "../keys/row-integrity/row-macs.ts";
import type { VaultRef } from "../keys/vault-keys.ts";

/** The organisation of the vault, if the person may be a member of it. */
export async function findVaultRoute(
  database: Pick<Database, "query">,
  { vaultId, personId }: { readonly vaultId: string; readonly personId: string },
): Promise<string | undefined> {
  const [row] = await database.query<{ account_id: string }>({
    name: "find-vault-route",
    text: "SELECT account_id FROM vault_route JOIN member_route USING (account_id) WHERE vault_id = $1 AND person_id = $2",
    values: [vaultId, personId],
  });
  return row?.account_id;
}

export function readVaultAccess(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  vaultIds: readonly string[],
): Promise<readonly Signed<VaultAccessRow>[]> {
  return database.queryInAccount<Signed<VaultAccessRow>>(accountId, {
    name: "read-vault-access",
    connection: "system",
    text: 'SELECT account_id AS "accountId", vault_id AS "vaultId", grants, mac FROM vault_access WHERE account_id = entered.account::uuid AND vault_id = ANY ($2)',
    values: [vaultIds],
  });
}

/** Locks a live vault against its deletion; undefined if the account has none with this id. */
export async function lockVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<{ readonly isShared: boolean } | undefined> {
  const [row] = await transaction.query<{ isShared: boolean }>({
    text: `SELECT EXISTS (SELECT FROM vault_route WHERE vault_route.vault_id = vault.id AND vault_route.account_id = vault.account_id) AS "isShared" FROM vault WHERE vault.account_id = $1 AND vault.id = $2 AND vault.deleted_at IS NULL FOR NO KEY UPDATE OF vault`,
    values: [accountId, vaultId],
  });
  return row;
}

/** In the stored grants of all vaults. */
export async function countCharacters(transaction: Transaction, accountId: string): Promise<number> {
  const [row] = await transaction.query<{ characters: number }>({
    text: "SELECT coalesce(sum(length(grants)), 0)::float8 AS characters FROM vault_access WHERE account_id = $1",
    values: [accountId],
  });
  return row?.characters ?? 0;
}

export async function findVaultAccess(
  transaction: Transaction,
  { accountId, vaultId }: VaultRef,
): Promise<Signed<VaultAccessRow> | undefined> {
  const [row] = await transaction.query<Signed<VaultAccessRow>>({
    text: 'SELECT account_id AS "accountId", vault_id AS "vaultId", grants, mac FROM vault_access WHERE account_id = $1 AND vault_id = $2',
    values: [accountId, vaultId],
  });
  return row;
}

export async function storeVaultAccess(
  transaction: Transaction,
  { accountId, vaultId, grants, mac }: Signed<VaultAccessRow>,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO vault_access (account_id, vault_id, grants, mac) VALUES ($1, $2, $3, $4) ON CONFLICT (vault_id, account_id) DO UPDATE SET grants = excluded.grants, mac = excluded.mac",
    values: [accountId, vaultId, grants, mac],
  });
}

/** Whether the organisation has this member or team. */
export async function hasHolder(
  transaction: Transaction,
  accountId: string,
  { type, id }: { readonly type: "person" | "team"; readonly id: string },
): Promise<boolean> {
  const rows = await transaction.query({
    text:
      type === "team"
        ? "SELECT FROM team WHERE account_id = $1 AND id = $2"
        : "SELECT FROM member WHERE account_id = $1 AND person_id = $2",
    values: [accountId, id],
  });
  return rows.length === 1;
}

/** Names of the teams, by their ids. */
export async function readTeamNames(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.queryInAccount<{ id: string; name: string }>(accountId, {
    text: "SELECT id, name FROM team WHERE account_id = entered.account::uuid AND id = ANY ($2)",
    values: [ids],
  });
  return new Map(rows.map(({ id, name }) => [id, name]));
}
