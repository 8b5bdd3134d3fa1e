import type { AuditActor } from "../audit/audit-log.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { lockAccountRow } from "../keys/row-integrity/queries.ts";
import { type ChangeDependencies, removeMember } from "./change-members.ts";
import { deleteMember, listMemberRoutes, lockMemberships } from "./queries.ts";

export type LeaveDependencies = ChangeDependencies & {
  readonly database: Pick<Database, "query" | "inAccount">;
};

/**
 * Before an account is deleted. One organisation after the other, each in a transaction of its own; throws "last owner" at the
 * first one that would be left without.
 */
export async function leaveOrganisations(
  { personId, by }: { readonly personId: string; readonly by: AuditActor },
  dependencies: LeaveDependencies,
): Promise<void> {
  for (const accountId of await listMemberRoutes(dependencies.database, personId)) {
    await dependencies.database.inAccount(accountId, async (transaction) => {
      const memberRef = { accountId, personId };
      const row = await lockAccountRow(transaction, accountId);
      if (row?.status === "active" || row?.status === "disabled") {
        await removeMember(transaction, { ...memberRef, by, status: row.status }, dependencies);
      }
      // Also what leads to no membership.
      await deleteMember(transaction, memberRef);
    });
  }
}

/** In the transaction that deletes the account: whoever joins later finds it deleted. */
export async function assertNoMemberships(transaction: Transaction, personId: string): Promise<void> {
  if ((await lockMemberships(transaction, personId)) === 0) return;
  const reason = "This person joined an organisation in the meantime; repeat the request";
  throw requestFailure({ kind: "conflict", reason });
}
