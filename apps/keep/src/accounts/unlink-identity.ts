import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { endSessions } from "../sign-in/sessions.ts";
import { deleteIdentity, lockIdentities } from "./queries.ts";

/** Takes one way into the account away, and ends what came in by it; never the last. */
export async function unlinkIdentity(
  transaction: Transaction,
  { actor, identityId }: { readonly actor: Actor; readonly identityId: string },
  parts: { readonly audit: AuditLog },
): Promise<void> {
  const { accountId } = actor;
  const identities = await lockIdentities(transaction, accountId);
  const found = identities.find(({ id }) => id === identityId);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  if (identities.length === 1) {
    const reason = "This is the only way into the account; link another one first";
    throw requestFailure({ kind: "conflict", reason });
  }
  await deleteIdentity(transaction, { accountId, identityId });
  await endSessions(transaction, { by: actor, which: { ofIdentity: identityId } }, parts);
  await parts.audit.record(transaction, {
    chain: accountId,
    by: actor,
    event: { type: "identity-unlinked", identity: identityId, provider: found.provider },
  });
}
