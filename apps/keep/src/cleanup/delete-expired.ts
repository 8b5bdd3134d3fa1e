/**
 * @module
 * What nobody asks for and must be done: what is past its time goes for good. Sees of other accounts only which have
 * something to do, and acts in one account at a time, as the server. Several nodes at once do no harm: each looks again
 * under the lock before it acts.
 * Imported by `background.ts`.
 */
import type { Database } from "../database/open-database.ts";
import { purgeExpiredSecret } from "../secrets/delete-secret.ts";
import type { ChangeDependencies } from "../vaults/change-vault.ts";
import { purgeExpiredVault } from "../vaults/delete-vault.ts";
import {
  deleteUnfinishedSignIns,
  listDueSecrets,
  listDueVaults,
  listUntidyAccounts,
  tidyAccount,
} from "./queries.ts";

export type CleanupDependencies = Omit<ChangeDependencies, "database"> & {
  readonly database: Pick<Database, "ask" | "inAccount" | "acrossAccounts">;
  /** Fires when this node ends; what is left another one does. */
  readonly signal: AbortSignal;
};

/** One turn. What fails does not keep the rest from being done; the first failure is thrown at the end. */
export async function tidyUp(parts: CleanupDependencies): Promise<void> {
  const { database, signal } = parts;
  const problems: unknown[] = [];
  const doEach = async <Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>) => {
    for (const item of items) {
      if (signal.aborted) return;
      await act(item).catch((problem: unknown) => problems.push(problem));
    }
  };
  await doEach(await listDueVaults(database), (place) => purgeExpiredVault(place, parts));
  await doEach(await listDueSecrets(database), (place) => purgeExpiredSecret(place, parts));
  await doEach(await listUntidyAccounts(database), (accountId) => tidyAccount(database, accountId));
  await deleteUnfinishedSignIns(database);
  if (problems.length > 0) throw problems[0];
}
