import type { AuditLog } from "../audit/audit-log.ts";
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
  const displayName = await lockAccount(transaction, accountId);
  if (displayName === undefined) throw requestFailure({ kind: "unauthenticated" });
  if (confirmation !== displayName) {
    const error = { field: "confirm", reason: "must be the display name of the account" };
    throw requestFailure({ kind: "request-invalid", errors: [error] });
  }
  await deleteAccountData(transaction, accountId);
  // By this record, the contents of all earlier ones are erased.
  audit.record(transaction, { accountId, by: actor, event: { type: "account-deleted" } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}
