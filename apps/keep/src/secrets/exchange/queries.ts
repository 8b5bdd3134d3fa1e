import type { Database } from "../../database/open-database.ts";
import { type Statement, scopeToAccount, type Transaction } from "../../database/transaction.ts";

/** Runs the standalone account queries inside a transaction. */
export function readInTransaction(transaction: Transaction): Pick<Database, "queryInAccount"> {
  return {
    queryInAccount: <Row extends object>(accountId: string, statement: Statement) =>
      transaction.query<Row>(scopeToAccount(accountId, statement)),
  };
}

/** Revisions of the live vaults with these ids; null means all. Equal revisions mean unchanged vaults. */
export async function listVaultRevisions(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  ids: readonly string[] | null,
): Promise<readonly { readonly id: string; readonly revision: string }[]> {
  return database.queryInAccount(accountId, {
    name: "list-vault-revisions",
    text: "SELECT vault.id, vault.revision::text AS revision FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND ($2::uuid[] IS NULL OR vault.id = ANY ($2)) ORDER BY vault.id",
    values: [ids],
  });
}
