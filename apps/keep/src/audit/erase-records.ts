import type { Database } from "../database/open-database.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import { textOf } from "./adopt-records.ts";
import { eraseBodies, findDeletionRecords, listAccountsToErase } from "./queries.ts";

export type ErasureDependencies = {
  readonly database: Pick<Database, "acrossAccounts" | "queryInAccount" | "asOwner">;
  readonly rowMacs: Pick<RowMacs, "isGenuine">;
};

/**
 * Erases the contents of the records of deleted accounts. What allows it is the record of the deletion, which stays and
 * which only Keep can write; a row that merely says that an account was deleted is not enough.
 */
export async function eraseDeletedAccounts({ database, rowMacs }: ErasureDependencies): Promise<void> {
  for (const accountId of await listAccountsToErase(database)) {
    const records = await findDeletionRecords(database, accountId);
    const genuine = records.find((row) => rowMacs.isGenuine({ auditRecord: textOf(row) }, row.mac));
    if (genuine === undefined) continue;
    await database.asOwner((transaction) => eraseBodies(transaction, accountId, Number(genuine.number)));
  }
}
