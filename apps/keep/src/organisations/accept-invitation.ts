import type { Person } from "../accounts/person.ts";
import { formatIdentity } from "../admission/decide-admission.ts";
import type { AuditActor } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { parseRole, type Role, roleAllows } from "../authorization/roles.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch, lockEpoch, lockEpochIfActive } from "../keys/row-integrity/account-epoch.ts";
import { listIdentityRows, listInvitationRows } from "../keys/row-integrity/queries.ts";
import type { InvitationRow } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { addMember, assertRoom, type MemberDependencies } from "./add-member.ts";
import { findGenuineMember, findMembership, type Membership } from "./find-membership.ts";
import { type InvitationKey, parseCode } from "./invitation-code.ts";
import { isActiveAccount } from "./member-access.ts";
import { deleteInvitation, findInvitation } from "./queries.ts";

export type AcceptDependencies = MemberDependencies & {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount" | "acrossAccounts">;
};

type InvitationReader = Pick<AcceptDependencies, "serverKeys"> & {
  readonly database: Pick<Database, "query" | "queryInAccount">;
};

/** An organisation, and the role in it that an invitation offers. */
export type Offer = { readonly name: string; readonly role: Role };

/** What a link offers, without using it up; undefined when it is not valid. */
export async function readInvitation(
  code: string,
  dependencies: InvitationReader,
): Promise<Offer | undefined> {
  const { database, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const key = parseCode(code);
  const stored = key === undefined ? undefined : await findInvitation(database, key);
  if (stored === undefined) return undefined;
  const { name, mac, account, ...invitation } = stored;
  const { mac: accountMac, ...accountRow } = account;
  const role = parseRole(invitation.role);
  const isGenuine =
    rowMacs.isGenuine({ account: accountRow }, accountMac) &&
    rowMacs.isGenuine({ invitation, epoch: account.epoch }, mac);
  if (!isGenuine || role === undefined) return undefined;
  return (await mayInvite(invitation, dependencies)) ? { name, role } : undefined;
}

/** Whoever created it may have become an ordinary member since, or be suspended. */
async function mayInvite(
  { accountId, invitedBy }: Pick<InvitationRow, "accountId" | "invitedBy">,
  dependencies: InvitationReader,
): Promise<boolean> {
  const member = await findGenuineMember({ accountId, personId: invitedBy }, dependencies);
  if (member === undefined || !roleAllows(member.role, "members:write")) return false;
  return isActiveAccount(invitedBy, dependencies);
}

/** Makes the signed-in person a member. Throws "not found" for a link that is used, revoked, expired or for somebody else. */
export async function acceptInvitation(
  actor: Actor,
  code: string,
  dependencies: AcceptDependencies,
): Promise<Membership> {
  const { accountId: personId } = actor;
  const key = await findKey(code, dependencies);
  const { accountId } = key;
  const identities = await listOwnIdentities(personId, dependencies);
  const by = { ...actor, personId };
  await dependencies.database.inAccount(accountId, async (transaction) => {
    const role = await useInvitation(transaction, { key, identities, by }, dependencies);
    await addMember(transaction, { accountId, personId, role, by }, dependencies);
  });
  const membership = await findMembership({ accountId, personId }, dependencies);
  if (membership === undefined) throw requestFailure({ kind: "not-found" });
  return membership;
}

/** The role that a person who has no account yet was invited to; the invitation is used up. */
export async function reserveMembership(
  person: Pick<Person, "provider" | "subject">,
  code: string,
  dependencies: AcceptDependencies,
): Promise<Reservation> {
  const key = await findKey(code, dependencies);
  const { accountId } = key;
  const identities = [formatIdentity(person)];
  return dependencies.database.inAccount(accountId, async (transaction) => ({
    accountId,
    role: await useInvitation(transaction, { key, identities, by: "server" }, dependencies),
  }));
}

/** A membership for which the invitation is used up already. */
export type Reservation = { readonly accountId: string; readonly role: Role };

/** After the account of the person was created. */
export function useReservation(
  actor: Pick<Actor, "accountId" | "kind" | "id" | "address">,
  { accountId, role }: Reservation,
  dependencies: AcceptDependencies,
): Promise<void> {
  const { accountId: personId } = actor;
  const by = { ...actor, personId };
  return dependencies.database.inAccount(accountId, (transaction) =>
    addMember(transaction, { accountId, personId, role, by }, dependencies),
  );
}

/** Before anything is locked: whoever has no invitation must not use what is shared by those who belong to the account. */
async function findKey(code: string, dependencies: AcceptDependencies): Promise<InvitationKey> {
  const key = parseCode(code);
  if (key === undefined || (await readInvitation(code, dependencies)) === undefined)
    throw requestFailure({ kind: "not-found" });
  return key;
}

type InvitationUse = {
  readonly key: InvitationKey;
  /** Those of the person. */
  readonly identities: readonly string[];
  readonly by: AuditActor;
};

/** Starts a new epoch, so that the row does not work again if it is put back. */
async function useInvitation(
  transaction: Transaction,
  { key: { accountId, secretHash }, identities, by }: InvitationUse,
  { audit, serverKeys: { rowMacs } }: Pick<AcceptDependencies, "audit" | "serverKeys">,
): Promise<Role> {
  if ((await lockEpochIfActive(transaction, accountId, rowMacs)) === undefined)
    throw requestFailure({ kind: "not-found" });
  return inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous: epoch }) => {
    const invitations = await listInvitationRows(transaction, accountId);
    const found = invitations.find((each) => each.secretHash.equals(secretHash));
    if (found === undefined) throw requestFailure({ kind: "not-found" });
    const { mac, ...invitation } = found;
    const { id, identity } = invitation;
    const role = parseRole(invitation.role);
    const isForPerson = identity === null || identities.includes(identity);
    if (role === undefined || !isForPerson || !rowMacs.isGenuine({ invitation, epoch }, mac))
      throw requestFailure({ kind: "not-found" });
    await assertRoom(transaction, accountId);
    await deleteInvitation(transaction, { accountId, id });
    audit.record(transaction, { accountId, by, event: { type: "invitation-accepted", invitation: id } });
    return { result: role, isRevoked: (row) => "invitation" in row && row.invitation.id === id };
  });
}

/** Genuine ones only. */
function listOwnIdentities(
  accountId: string,
  {
    database,
    serverKeys: { rowMacs },
  }: {
    readonly database: Pick<Database, "inAccount">;
    readonly serverKeys: Pick<ServerKeys, "rowMacs">;
  },
): Promise<readonly string[]> {
  return database.inAccount(accountId, async (transaction) => {
    const epoch = await lockEpoch(transaction, accountId, rowMacs);
    const rows = await listIdentityRows(transaction, accountId);
    return rows
      .filter(({ mac, ...identity }) => rowMacs.isGenuine({ identity, epoch }, mac))
      .map(formatIdentity);
  });
}
