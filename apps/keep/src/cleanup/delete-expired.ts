/**
 * @module
 * Deletes expired data: soft-deleted vaults and secrets, idempotency results, sessions and sign-in attempts. Finds the
 * affected accounts through the maintenance role and then works in one account at a time, as the server. Safe on several
 * nodes at once, because each purge is checked again under the vault's lock.
 * Imported by `background.ts`.
 */
import type { Database } from "../database/open-database.ts";
import { purgeExpiredSecret } from "../secrets/delete-secret.ts";
import type { ChangeDependencies } from "../vaults/change-vault.ts";
import { purgeExpiredVault } from "../vaults/delete-vault.ts";
import {
  deleteExpiredRows,
  deleteExpiredSignInAttempts,
  listAccountsWithExpiredRows,
  listDueSecrets,
  listDueVaults,
} from "./queries.ts";

export type CleanupDependencies = Omit<ChangeDependencies, "database"> & {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
  /** Aborted at shutdown; the next run or another node does the rest. */
  readonly signal: AbortSignal;
};

/** One pass. An error does not stop the others; the first one is thrown at the end. */
export async function deleteExpired(dependencies: CleanupDependencies): Promise<void> {
  const { database, signal } = dependencies;
  const errors: unknown[] = [];
  const runForEach = async <Item>(items: readonly Item[], run: (item: Item) => Promise<unknown>) => {
    for (const item of items) {
      if (signal.aborted) return;
      await run(item).catch((error: unknown) => errors.push(error));
    }
  };
  await runForEach(await listDueVaults(database), (ref) => purgeExpiredVault(ref, dependencies));
  await runForEach(await listDueSecrets(database), (ref) => purgeExpiredSecret(ref, dependencies));
  await runForEach(await listAccountsWithExpiredRows(database), (accountId) =>
    deleteExpiredRows(database, accountId),
  );
  await deleteExpiredSignInAttempts(database);
  if (errors.length > 0) throw errors[0];
}
