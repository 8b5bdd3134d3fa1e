/**
 * @module
 * Operators: people who list, suspend and resume accounts. Guarantees that an operator reads nothing that is in another
 * account, and that every change is recorded in the account's log and in the operator's.
 * Imported by `routes.ts` and `commands/`.
 */
import { type OperatorDependencies, resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import type { Actor } from "../authorization/actor.ts";
import { awaitRevocation } from "../cluster/await-revocation.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { findManagedAccount, type ManagedAccount } from "./queries.ts";

export type ManageDependencies = OperatorDependencies & {
  readonly database: Pick<Database, "query" | "inAccount" | "acrossAccounts">;
};

export type AccountChangeRequest = {
  readonly accountId: string;
  readonly change: "suspended" | "resumed";
  /** Whether to resolve only once no node accepts what the change ends. */
  readonly waitsForAll: boolean;
};

/** Suspends or resumes another account; repeating it changes nothing. Recorded in the operator's own log first. */
export async function manageAccount(
  actor: Actor,
  { accountId, change, waitsForAll }: AccountChangeRequest,
  dependencies: ManageDependencies,
): Promise<ManagedAccount> {
  await getManagedAccount(dependencies.database, accountId);
  if (accountId === actor.accountId) {
    const reason = "This is your own account; another operator or 'keep account' can change it";
    throw requestFailure({ kind: "conflict", reason });
  }
  const event = { type: "account-managed", account: accountId, change } as const;
  await dependencies.audit.recordRead({ accountId: actor.accountId, by: actor, event });
  const apply = change === "suspended" ? suspendAccount : resumeAccount;
  await dependencies.database.inAccount(accountId, (transaction) =>
    apply(transaction, { accountId, operator: actor.accountId }, dependencies),
  );
  if (waitsForAll) await awaitRevocation(dependencies.database);
  return getManagedAccount(dependencies.database, accountId);
}

export async function getManagedAccount(
  database: Pick<Database, "acrossAccounts">,
  accountId: string,
): Promise<ManagedAccount> {
  const account = await findManagedAccount(database, accountId);
  if (account === undefined) throw requestFailure({ kind: "not-found" });
  return account;
}
