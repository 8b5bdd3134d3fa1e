import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Role } from "../authorization/roles.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { inNewEpoch, lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { generateRandomToken, hashText } from "../sign-in/random-tokens.ts";
import { assertRoom } from "./add-member.ts";
import { formatCode } from "./invitation-code.ts";
import { countInvitations, deleteInvitation, insertInvitation, type ListedInvitation } from "./queries.ts";

export type InvitationDependencies = {
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type InvitationSpec = {
  readonly role: Role;
  /** The only identity that can accept it, such as `general:12345`; null for whoever has the link. */
  readonly identity: string | null;
};

/** The code is not stored and cannot be shown again. */
export type IssuedInvitation = { readonly invitation: ListedInvitation; readonly code: string };

const days = 7;
const maxInvitations = 200;

/** The actor acts in the organisation. */
export async function createInvitation(
  transaction: Transaction,
  { actor, spec }: { readonly actor: Actor; readonly spec: InvitationSpec },
  { audit, serverKeys: { rowMacs } }: InvitationDependencies,
): Promise<IssuedInvitation> {
  const { accountId, personId: invitedBy = "" } = actor;
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  await assertRoom(transaction, accountId);
  if ((await countInvitations(transaction, accountId)) >= maxInvitations)
    throw requestFailure({ kind: "quota-exceeded", resource: "invitations", max: maxInvitations });
  const secret = generateRandomToken();
  const created = { ...spec, accountId, id: generateId(), secretHash: hashText(secret), invitedBy };
  const sign = (expiresAt: Date) => rowMacs.compute({ invitation: { ...created, expiresAt }, epoch });
  const { createdAt, expiresAt } = await insertInvitation(transaction, created, { days, sign });
  const event = { type: "invitation-created", invitation: created.id, role: spec.role } as const;
  audit.record(transaction, { accountId, by: actor, event });
  const { id } = created;
  return {
    invitation: { ...spec, id, invitedBy, createdAt, expiresAt },
    code: formatCode(accountId, secret),
  };
}

/** The link no longer works, also if its row is put back. */
export async function revokeInvitation(
  transaction: Transaction,
  { actor, id }: { readonly actor: Actor; readonly id: string },
  { audit, serverKeys: { rowMacs } }: InvitationDependencies,
): Promise<void> {
  const { accountId } = actor;
  await inNewEpoch(transaction, { accountId, rowMacs }, async () => {
    if (!(await deleteInvitation(transaction, { accountId, id })))
      throw requestFailure({ kind: "not-found" });
    return {
      result: undefined,
      isRevoked: (row) => "invitation" in row && row.invitation.id === id,
    };
  });
  const event = { type: "invitation-revoked", invitation: id } as const;
  audit.record(transaction, { accountId, by: actor, event });
}
