import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import type { Role } from "../authorization/roles.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { countMembers, insertMember, lockMemberships, type MemberRef, readDisplayNames } from "./queries.ts";

export type MemberDependencies = {
  readonly database: Pick<Database, "acrossAccounts">;
  readonly audit: AuditLog;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type NewMember = MemberRef & { readonly role: Role; readonly by: AuditActor };

const maxMembers = 5000;
const maxOrganisations = 100;

/** In the transaction of the organisation. Locks it and the memberships of the person. */
export async function addMember(
  transaction: Transaction,
  { accountId, personId, role, by }: NewMember,
  { database, audit, serverKeys: { rowMacs } }: MemberDependencies,
): Promise<void> {
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  await assertRoom(transaction, accountId);
  if ((await lockMemberships(transaction, personId)) >= maxOrganisations)
    throw requestFailure({ kind: "quota-exceeded", resource: "organisations", max: maxOrganisations });
  // Deleting an account takes the same lock, so that it leaves no membership behind.
  if (!(await readDisplayNames(database, [personId])).has(personId))
    throw requestFailure({ kind: "unauthenticated" });
  const member = { accountId, personId, role, teamIds: [], groupTeamIds: [] };
  if (!(await insertMember(transaction, { ...member, mac: rowMacs.compute({ member, epoch }) }))) {
    const reason = "You are a member of this organisation already";
    throw requestFailure({ kind: "conflict", reason });
  }
  audit.record(transaction, { accountId, by, event: { type: "member-added", person: personId, role } });
}

/** The organisation is locked. */
export async function assertRoom(transaction: Transaction, accountId: string): Promise<void> {
  if ((await countMembers(transaction, accountId)) >= maxMembers)
    throw requestFailure({ kind: "quota-exceeded", resource: "members", max: maxMembers });
}
