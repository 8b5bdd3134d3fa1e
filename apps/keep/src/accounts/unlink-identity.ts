import type { Actor } from "../authorization/actor.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { listIdentityRows } from "../keys/row-integrity/queries.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import { revokeSessionRows } from "../sign-in/queries.ts";
import {
  isSelectedSession,
  type RevocationDependencies,
  reportRevokedSessions,
} from "../sign-in/revoke-sessions.ts";
import { deleteIdentity } from "./queries.ts";

/** Unlinks an identity and revokes its sessions. The last identity cannot be unlinked. */
export async function unlinkIdentity(
  transaction: Transaction,
  { actor, identityId }: { readonly actor: Actor; readonly identityId: string },
  dependencies: RevocationDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { rowMacs } = dependencies.serverKeys;
  const selector = { ofIdentity: identityId };
  const unlinked = await inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous }) => {
    const provider = await assertUnlinkable(transaction, { accountId, identityId, epoch: previous }, rowMacs);
    await deleteIdentity(transaction, { accountId, identityId });
    const sessions = await revokeSessionRows(transaction, accountId, selector);
    return {
      result: { provider, sessions },
      isRevoked: (row) =>
        "identity" in row ? row.identity.id === identityId : isSelectedSession(row, selector),
    };
  });
  dependencies.audit.record(transaction, {
    accountId,
    by: actor,
    event: { type: "identity-unlinked", identity: identityId, provider: unlinked.provider },
  });
  const report = { accountId, by: actor, sessions: unlinked.sessions };
  await reportRevokedSessions(transaction, report, dependencies);
}

type IdentityOfEpoch = {
  readonly accountId: string;
  readonly identityId: string;
  readonly epoch: number;
};

/** The account is locked, so that two concurrent requests cannot unlink the last two. Returns the provider. */
async function assertUnlinkable(
  transaction: Transaction,
  { accountId, identityId, epoch }: IdentityOfEpoch,
  rowMacs: Pick<RowMacs, "isGenuine">,
): Promise<string> {
  const identities = await listIdentityRows(transaction, accountId);
  const identity = identities.find(({ id }) => id === identityId);
  if (identity === undefined) throw requestFailure({ kind: "not-found" });
  // One that was inserted into the database could not sign in.
  const canStillSignIn = identities.some(
    (other) => other.id !== identityId && rowMacs.isGenuine({ identity: other, epoch }, other.mac),
  );
  if (!canStillSignIn) {
    const reason = "This is the account's only identity; link another one first";
    throw requestFailure({ kind: "conflict", reason });
  }
  return identity.provider;
}
