/**
 * @module
 * Deletes expired data: soft-deleted vaults and secrets, proposed changes, idempotency results, sessions and sign-in attempts. Finds the
 * affected accounts through the maintenance role and then works in one account at a time, as the server. Safe on several
 * nodes at once, because each purge is checked again under the vault's lock.
 * Imported by `background.ts`.
 */
import type { Database } from "../database/open-database.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { expireChanges } from "../secrets/approvals/expire-changes.ts";
import { purgeExpiredSecret } from "../secrets/delete-secret.ts";
import type { QueueDependencies } from "../vaults/change-queue.ts";
import { purgeExpiredVault } from "../vaults/delete-vault.ts";
import {
  deleteExpiredRows,
  deleteExpiredSignInAttempts,
  listAccountsWithExpiredRows,
  listDueSecrets,
  listDueVaults,
  listVaultsWithExpiredChanges,
} from "./queries.ts";

export type CleanupDependencies = Omit<QueueDependencies, "database"> & {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
  /** Aborted at shutdown; the next run or another node does the rest. */
  readonly signal: AbortSignal;
};

/** Deletes everything that is due. An error does not stop the rest; the first one is thrown at the end. */
export async function deleteExpired(dependencies: CleanupDependencies): Promise<void> {
  const { database, signal } = dependencies;
  const errors: unknown[] = [];
  const run = <Item>(list: () => Promise<readonly Item[]>, work: (item: Item) => Promise<boolean>) =>
    workThrough(list, work, { signal, errors });
  await run(
    () => listDueVaults(database),
    (ref) => purgeExpiredVault(ref, dependencies),
  );
  await run(
    () => listDueSecrets(database),
    (ref) => purgeExpiredSecret(ref, dependencies),
  );
  await run(
    () => listVaultsWithExpiredChanges(database),
    (ref) => expireChanges(ref, dependencies),
  );
  await run(
    () => listAccountsWithExpiredRows(database),
    (accountId) => deleteExpiredRows(database, accountId),
  );
  await deleteExpiredSignInAttempts(database);
  if (errors.length > 0) throw errors[0];
}

type WorkOptions = { readonly signal: AbortSignal; readonly errors: unknown[] };

/** Page by page until nothing is left, so that a pass keeps up with what people delete. Stops when a page changes nothing. */
async function workThrough<Item>(
  list: () => Promise<readonly Item[]>,
  work: (item: Item) => Promise<boolean>,
  { signal, errors }: WorkOptions,
): Promise<void> {
  for (let hasProgress = true; hasProgress; ) {
    hasProgress = false;
    for (const item of await list()) {
      if (signal.aborted) return;
      const isDone = await work(item).catch((error: unknown) => {
        errors.push(error);
        return false;
      });
      hasProgress ||= isDone;
    }
  }
}
