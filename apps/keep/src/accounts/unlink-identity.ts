import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { revokeSessions } from "../sign-in/sessions.ts";
import { deleteIdentity, lockIdentities } from "./queries.ts";

/** Unlinks an identity and revokes its sessions. The last identity cannot be unlinked. */
export async function unlinkIdentity(
  transaction: Transaction,
  { actor, identityId }: { readonly actor: Actor; readonly identityId: string },
  dependencies: { readonly audit: AuditLog },
): Promise<void> {
  const { accountId } = actor;
  const identities = await lockIdentities(transaction, accountId);
  const identity = identities.find(({ id }) => id === identityId);
  if (identity === undefined) throw requestFailure({ kind: "not-found" });
  if (identities.length === 1) {
    const reason = "This is the account's only identity; link another one first";
    throw requestFailure({ kind: "conflict", reason });
  }
  await deleteIdentity(transaction, { accountId, identityId });
  await revokeSessions(transaction, { by: actor, selector: { ofIdentity: identityId } }, dependencies);
  await dependencies.audit.record(transaction, {
    chain: accountId,
    by: actor,
    event: { type: "identity-unlinked", identity: identityId, provider: identity.provider },
  });
}
