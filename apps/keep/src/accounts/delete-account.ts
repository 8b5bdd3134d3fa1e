import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { deleteAccountData, lockAccount } from "./queries.ts";

/**
 * Permanently deletes the account and everything in it. Signing in again creates a new account. What remains is a
 * tombstone row and the audit records, whose contents are erased soon after.
 */
export async function deleteAccount(
  transaction: Transaction,
  { actor, confirmation }: { readonly actor: Actor; readonly confirmation: string },
  { audit }: { readonly audit: AuditLog },
): Promise<void> {
  const { accountId } = actor;
  const account = await lockAccount(transaction, accountId);
  if (account?.status !== "active") throw requestFailure({ kind: "unauthenticated" });
  if (confirmation !== account.display_name) {
    const error = { field: "confirm", reason: "must be the display name of the account" };
    throw requestFailure({ kind: "request-invalid", errors: [error] });
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
  await deleteAccountData(transaction, accountId);
  // By this record, the contents of all earlier ones are erased.
  audit.record(transaction, { accountId, by, event: { type: "account-deleted" } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}
