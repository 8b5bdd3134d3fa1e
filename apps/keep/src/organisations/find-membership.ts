/**
 * @module
 * Organisations: accounts whose members are people with accounts of their own. Guarantees that a membership which Keep did
 * not grant, or that has ended, opens nothing, that an organisation keeps an owner, and that an invitation admits one
 * person once.
 * Imported by `routes.ts`, `access/`, `sign-in/`, `accounts/` and `commands/`.
 */
import { parseRole, type Role } from "../authorization/roles.ts";
import type { Database } from "../database/open-database.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { findMember, listMemberRoutes, type MemberRef, type StoredMember } from "./queries.ts";

export type MembershipDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
  /** Called when a stored membership was modified outside Keep. */
  readonly onIntegrityError?: (accountId: string) => void;
};

/** An organisation as one of its members sees it. */
export type Membership = {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
};

/** Undefined when the person is not a member of such an organisation. Not cached, as sessions are not. */
export async function findMembership(
  memberRef: MemberRef,
  dependencies: MembershipDependencies,
): Promise<Membership | undefined> {
  const member = await findGenuineMember(memberRef, dependencies);
  if (member === undefined) return undefined;
  const { name, role, createdAt } = member;
  return { id: memberRef.accountId, name, role, createdAt };
}

export type GenuineMember = Omit<Membership, "id"> & {
  readonly teamIds: readonly string[];
  /** See `MemberRow`. */
  readonly groupTeamIds: readonly string[];
  /** Of the organisation. */
  readonly epoch: number;
  /** See `grants/read-grants.ts`. */
  readonly grantsVersion: string;
};

/** As `findMembership`. */
export async function findGenuineMember(
  memberRef: MemberRef,
  { database, serverKeys: { rowMacs }, onIntegrityError }: MembershipDependencies,
): Promise<GenuineMember | undefined> {
  const stored = await findMember(database, memberRef);
  if (stored === undefined) return undefined;
  const role = parseRole(stored.role);
  if (role === undefined || !isGenuineMember(stored, rowMacs)) {
    onIntegrityError?.(memberRef.accountId);
    return undefined;
  }
  const { name, createdAt, teamIds, groupTeamIds, account, grantsVersion } = stored;
  const { epoch } = account;
  return { name, role, createdAt, teamIds, groupTeamIds, epoch, grantsVersion: grantsVersion ?? "" };
}

function isGenuineMember(
  { mac, account: { mac: accountMac, ...account }, ...stored }: StoredMember,
  rowMacs: MembershipDependencies["serverKeys"]["rowMacs"],
): boolean {
  const { accountId, personId, role, teamIds, groupTeamIds } = stored;
  const member = { accountId, personId, role, teamIds, groupTeamIds };
  return (
    account.kind === "organisation" &&
    rowMacs.isGenuine({ account }, accountMac) &&
    rowMacs.isGenuine({ member, epoch: account.epoch }, mac)
  );
}

/** The organisations of a person, in order of creation. */
export async function listMemberships(
  personId: string,
  dependencies: MembershipDependencies,
): Promise<readonly Membership[]> {
  const accountIds = await listMemberRoutes(dependencies.database, personId);
  const found = await Promise.all(
    accountIds.map((accountId) => findMembership({ accountId, personId }, dependencies)),
  );
  return found.filter((membership) => membership !== undefined);
}
