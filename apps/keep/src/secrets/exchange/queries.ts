import type { Database } from "../../database/open-database.ts";
import { enterFirst, type Statement, type Transaction } from "../../database/transaction.ts";

/** Runs the standalone account queries inside a transaction. */
export function readInTransaction(transaction: Transaction): Pick<Database, "askInAccount"> {
  return {
    askInAccount: <Row extends object>(accountId: string, statement: Statement) =>
      transaction.query<Row>(enterFirst(accountId, statement)),
  };
}

/** Revisions of the live vaults with these ids; null means all. Equal revisions mean unchanged vaults. */
export async function listVaultRevisions(
  database: Pick<Database, "askInAccount">,
  accountId: string,
  ids: readonly string[] | null,
): Promise<readonly { readonly id: string; readonly revision: string }[]> {
  return database.askInAccount(accountId, {
    name: "list-vault-revisions",
    text: "SELECT vault.id, vault.revision::text AS revision FROM live_vault AS vault WHERE vault.account_id = entered.account::uuid AND ($2::uuid[] IS NULL OR vault.id = ANY ($2)) ORDER BY vault.id",
    values: [ids],
  });
}
