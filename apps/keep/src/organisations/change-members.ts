import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import type { Role } from "../authorization/roles.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { notifyAccess, removeHolder } from "../grants/change-grants.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { listMemberRows } from "../keys/row-integrity/queries.ts";
import type { MemberRow, RowMacs, RowOfEpoch } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { revokeOwnedTokens } from "../tokens/queries.ts";
import { reportRevokedTokens } from "../tokens/revoke-token.ts";
import { deleteMember, type MemberRef, updateMemberRole } from "./queries.ts";

export type ChangeDependencies = {
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type RoleChange = MemberRef & { readonly role: Role; readonly by: AuditActor };

/** In force at the member's next request. The last owner stays one. */
export async function changeRole(
  transaction: Transaction,
  { accountId, personId, role, by }: RoleChange,
  { audit, serverKeys: { rowMacs } }: ChangeDependencies,
): Promise<void> {
  const isChanged = await inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous, next }) => {
    const members = await listGenuineMembers(transaction, { accountId, epoch: previous, rowMacs });
    const current = members.find((member) => member.personId === personId);
    if (current === undefined) throw requestFailure({ kind: "not-found" });
    if (role !== "owner") assertOtherOwner(members, personId);
    const member = { ...current, role };
    const mac = rowMacs.compute({ member, epoch: next });
    await updateMemberRole(transaction, { ...member, mac });
    return { result: current.role !== role, isRevoked: (row) => isOfMember(row, personId) };
  });
  if (!isChanged) return;
  audit.record(transaction, { accountId, by, event: { type: "member-changed", person: personId, role } });
  await notifyAccess(transaction, accountId);
}

export type MemberRemoval = MemberRef & {
  readonly by: AuditActor;
  /** Of the organisation; a person can also leave one that is suspended. */
  readonly status?: "active" | "disabled";
};

/**
 * Ends the membership, and the tokens, grants and invitations of the member. What belongs to the organisation stays. The last
 * owner cannot leave. False for other people.
 */
export async function removeMember(
  transaction: Transaction,
  { accountId, personId, by, status = "active" }: MemberRemoval,
  dependencies: ChangeDependencies,
): Promise<boolean> {
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const ended = await inNewEpoch(transaction, { accountId, rowMacs, status }, async (epochs) => {
    const members = await listGenuineMembers(transaction, { accountId, epoch: epochs.previous, rowMacs });
    assertOtherOwner(members, personId);
    if (!members.some((member) => member.personId === personId))
      return { result: undefined, isRevoked: (row) => isOfMember(row, personId) };
    const holder = { type: "person", id: personId } as const;
    const vaults = await removeHolder(transaction, { accountId, holder, epochs, by }, dependencies);
    const invitations = await deleteMember(transaction, { accountId, personId });
    const tokens = await revokeOwnedTokens(transaction, accountId, personId);
    const tokenIds = new Set(tokens.map(({ id }) => id));
    return {
      result: { invitations, tokens },
      isRevoked: (row) =>
        isOfMember(row, personId) ||
        ("invitation" in row && row.invitation.invitedBy === personId) ||
        ("token" in row && tokenIds.has(row.token.id)) ||
        ("vaultAccess" in row && vaults.has(row.vaultAccess.vaultId)),
    };
  });
  if (ended === undefined) return false;
  audit.record(
    transaction,
    { accountId, by, event: { type: "member-removed", person: personId } },
    ...ended.invitations.map(
      (invitation) => ({ accountId, by, event: { type: "invitation-revoked", invitation } }) as const,
    ),
  );
  await reportRevokedTokens(transaction, { accountId, by, revoked: ended.tokens }, audit);
  await notifyAccess(transaction, accountId);
  return true;
}

type MembersOfEpoch = {
  readonly accountId: string;
  readonly epoch: number;
  readonly rowMacs: Pick<RowMacs, "isGenuine">;
};

/** Without rows that were inserted into the database. */
export async function listGenuineMembers(
  transaction: Transaction,
  { accountId, epoch, rowMacs }: MembersOfEpoch,
): Promise<readonly MemberRow[]> {
  const rows = await listMemberRows(transaction, accountId);
  return rows.filter(({ mac, ...member }) => rowMacs.isGenuine({ member, epoch }, mac));
}

/** The organisation is locked, so that two concurrent requests cannot remove the last two owners. */
function assertOtherOwner(members: readonly MemberRow[], personId: string): void {
  const owners = members.filter(({ role }) => role === "owner");
  const isLast = owners.length === 1 && owners[0]?.personId === personId;
  if (isLast) throw requestFailure({ kind: "last-owner" });
}

function isOfMember(row: RowOfEpoch, personId: string): boolean {
  return "member" in row && row.member.personId === personId;
}
