import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import {
  assertNoMemberships,
  type LeaveDependencies,
  leaveOrganisations,
} from "../organisations/leave-organisations.ts";
import { deleteAccountData, hasProtectedVaults, lockAccount, readAccount } from "./queries.ts";

export type AccountDeletion = { readonly actor: Actor; readonly confirmation: string };

/** Before a person's account is deleted: ends its memberships, unless the deletion will be refused. */
export async function leaveBeforeDeletion(
  { actor, confirmation }: AccountDeletion,
  dependencies: LeaveDependencies & { readonly database: Pick<Database, "queryInAccount"> },
): Promise<void> {
  const { accountId: personId } = actor;
  const account = await readAccount(dependencies.database, personId);
  if (account?.display_name !== confirmation) return;
  await leaveOrganisations({ personId, by: { ...actor, personId } }, dependencies);
}

/**
 * Permanently deletes the account and everything in it. Signing in again creates a new account. What remains is a
 * tombstone row and the audit records, whose contents are erased soon after.
 */
export async function deleteAccount(
  transaction: Transaction,
  { actor, confirmation }: AccountDeletion,
  { audit }: { readonly audit: AuditLog },
): Promise<void> {
  const { accountId } = actor;
  const account = await lockAccount(transaction, accountId);
  if (account?.status !== "active") throw requestFailure({ kind: "unauthenticated" });
  if (confirmation !== account.display_name) {
    const error = { field: "confirm", reason: "must be the display name of the account" };
    throw requestFailure({ kind: "request-invalid", errors: [error] });
  }
  if (await hasProtectedVaults(transaction, accountId)) {
    const reason =
      "A vault of the organisation has protected paths; propose to remove their protection, and delete the organisation once another person has approved that";
    throw requestFailure({ kind: "conflict", reason });
  }
  await deleteLocked(transaction, { accountId, by: actor }, { audit });
}

/** For the administrator of the server; also deletes a suspended account. */
export async function deleteAnyAccount(
  transaction: Transaction,
  accountId: string,
  { audit }: { readonly audit: AuditLog },
): Promise<void> {
  const account = await lockAccount(transaction, accountId);
  if (account === undefined) throw requestFailure({ kind: "not-found" });
  await deleteLocked(transaction, { accountId, by: "server" }, { audit });
}

async function deleteLocked(
  transaction: Transaction,
  { accountId, by }: { readonly accountId: string; readonly by: AuditActor },
  { audit }: { readonly audit: AuditLog },
): Promise<void> {
  await assertNoMemberships(transaction, accountId);
  await deleteAccountData(transaction, accountId);
  // By this record, the contents of all earlier ones are erased.
  audit.record(transaction, { accountId, by, event: { type: "account-deleted" } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}
