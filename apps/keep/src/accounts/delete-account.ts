import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { emptyAccount, eraseAuditBodies, lockAccount } from "./queries.ts";

/**
 * An account with everything in it, for good. The person who signs in again begins a new one; what is left is a row
 * that says so, and audit chains without words.
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
    const mistake = { field: "confirm", reason: "must be the display name of the account" };
    throw requestFailure({ kind: "request-invalid", errors: [mistake] });
  }
  await emptyAccount(transaction, accountId);
  await eraseAuditBodies(transaction);
  // After the others were erased: that the account was deleted, and when, is all that stays to be read.
  await audit.record(transaction, { chain: accountId, by: actor, event: { type: "account-deleted" } });
  await notifyNodes(transaction, accountId, [{ kind: "account", subjectId: accountId }]);
}
