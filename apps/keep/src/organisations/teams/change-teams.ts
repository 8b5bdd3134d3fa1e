/**
 * @module
 * Teams of an organisation: members who get the same grants. Guarantees that whoever leaves a team loses at once what only the
 * team was granted, and that a group of the provider fills a team only if an owner has set it.
 * Imported by `routes.ts` and `sign-in/`.
 */
import type { Actor } from "../../authorization/actor.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import { generateId } from "../../generate-id.ts";
import { notifyAccess, removeHolder } from "../../grants/change-grants.ts";
import { inNewEpoch, lockEpoch } from "../../keys/row-integrity/account-epoch.ts";
import type { MemberRow, RowMacs } from "../../keys/row-integrity/row-macs.ts";
import { type ChangeDependencies, listGenuineMembers } from "../change-members.ts";
import { maxTeamsOfMember } from "./plan-teams.ts";
import {
  countTeams,
  deleteTeamRow,
  findTeam,
  insertTeam,
  type StoredGroup,
  type TeamRef,
  type TeamRow,
  updateMemberTeams,
  updateTeamGroup,
  updateTeamName,
} from "./queries.ts";

const maxTeams = 500;

/** Without a group, only owners add members to the team. */
export type TeamSpec = { readonly name: string; readonly externalGroup: string | null };

export async function createTeam(
  transaction: Transaction,
  { actor, name, externalGroup }: TeamSpec & { readonly actor: Actor },
  { audit, serverKeys: { rowMacs } }: ChangeDependencies,
): Promise<TeamRow> {
  const { accountId } = actor;
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  if ((await countTeams(transaction, accountId)) >= maxTeams)
    throw requestFailure({ kind: "quota-exceeded", resource: "teams", max: maxTeams });
  const team = generateId();
  const teamRef = { accountId, teamId: team };
  const group = signGroup(teamRef, { externalGroup, epoch }, rowMacs);
  const row = await insertTeam(transaction, teamRef, { name, ...group });
  audit.record(transaction, { accountId, by: actor, event: { type: "team-created", team, name } });
  if (externalGroup !== null) {
    const event = { type: "team-group-changed", team, group: externalGroup, removed: 0 } as const;
    audit.record(transaction, { accountId, by: actor, event });
  }
  return row;
}

type TeamChange = { readonly actor: Actor; readonly teamId: string };

export async function renameTeam(
  transaction: Transaction,
  { actor, teamId, name }: TeamChange & { readonly name: string },
  { audit }: Pick<ChangeDependencies, "audit">,
): Promise<void> {
  const { accountId } = actor;
  if (!(await updateTeamName(transaction, { accountId, teamId }, name)))
    throw requestFailure({ kind: "not-found" });
  const event = { type: "team-renamed", team: teamId, name } as const;
  audit.record(transaction, { accountId, by: actor, event });
}

/**
 * Members whom the earlier group put into the team are removed: nothing else would remove those who do not sign in again, and
 * the others join at their next sign-in if the new group names them.
 */
export async function changeTeamGroup(
  transaction: Transaction,
  { actor, teamId, externalGroup }: TeamChange & Pick<TeamSpec, "externalGroup">,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const teamRef = { accountId, teamId };
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  const team = await findTeam(transaction, teamRef);
  if (team === undefined) throw requestFailure({ kind: "not-found" });
  if (team.externalGroup === externalGroup && isGenuineGroup(teamRef, { ...team, epoch }, rowMacs)) return;
  const removed = await inNewEpoch(transaction, { accountId, rowMacs }, async (epochs) => {
    const members = await listGenuineMembers(transaction, { accountId, epoch: epochs.previous, rowMacs });
    const filled = members.filter(({ groupTeamIds }) => groupTeamIds.includes(teamId));
    for (const member of filled)
      await storeTeams(transaction, { member: without(member, teamId), epoch: epochs.next }, dependencies);
    const group = signGroup(teamRef, { externalGroup, epoch: epochs.next }, rowMacs);
    await updateTeamGroup(transaction, teamRef, group);
    const changed = new Set(filled.map(({ personId }) => personId));
    return {
      result: filled.length,
      isRevoked: (row) =>
        ("member" in row && changed.has(row.member.personId)) ||
        ("teamGroup" in row && row.teamGroup.teamId === teamId),
    };
  });
  const group = externalGroup === null ? {} : { group: externalGroup };
  const event = { type: "team-group-changed", team: teamId, ...group, removed } as const;
  audit.record(transaction, { accountId, by: actor, event });
  await notifyAccess(transaction, accountId);
}

type GroupOfEpoch = Pick<TeamSpec, "externalGroup"> & { readonly epoch: number };

function signGroup(
  teamRef: TeamRef,
  { externalGroup, epoch }: GroupOfEpoch,
  rowMacs: Pick<RowMacs, "compute">,
): StoredGroup {
  if (externalGroup === null) return { externalGroup, mac: null };
  return { externalGroup, mac: rowMacs.compute({ teamGroup: { ...teamRef, externalGroup }, epoch }) };
}

function isGenuineGroup(
  teamRef: TeamRef,
  { externalGroup, mac, epoch }: GroupOfEpoch & StoredGroup,
  rowMacs: Pick<RowMacs, "isGenuine">,
): boolean {
  return (
    externalGroup === null || rowMacs.isGenuine({ teamGroup: { ...teamRef, externalGroup }, epoch }, mac)
  );
}

/** With its grants; its members stay members of the organisation. */
export async function deleteTeam(
  transaction: Transaction,
  { actor, teamId }: TeamChange,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const name = await inNewEpoch(transaction, { accountId, rowMacs }, async (epochs) => {
    const found = await findTeam(transaction, { accountId, teamId });
    if (found === undefined) throw requestFailure({ kind: "not-found" });
    const holder = { type: "team", id: teamId } as const;
    const vaults = await removeHolder(transaction, { accountId, holder, epochs, by: actor }, dependencies);
    const members = await listGenuineMembers(transaction, { accountId, epoch: epochs.previous, rowMacs });
    const inTeam = members.filter(({ teamIds }) => teamIds.includes(teamId));
    for (const member of inTeam)
      await storeTeams(transaction, { member: without(member, teamId), epoch: epochs.next }, dependencies);
    await deleteTeamRow(transaction, { accountId, teamId });
    const changed = new Set(inTeam.map(({ personId }) => personId));
    return {
      result: found.name,
      isRevoked: (row) =>
        ("member" in row && changed.has(row.member.personId)) ||
        ("teamGroup" in row && row.teamGroup.teamId === teamId) ||
        ("vaultAccess" in row && vaults.has(row.vaultAccess.vaultId)),
    };
  });
  audit.record(transaction, { accountId, by: actor, event: { type: "team-deleted", team: teamId, name } });
  await notifyAccess(transaction, accountId);
}

type TeamMemberChange = TeamChange & { readonly personId: string };

/** A member who is in the team already stays in it; one whom a group put in, whatever groups later sign-ins name. */
export async function addTeamMember(
  transaction: Transaction,
  { actor, teamId, personId }: TeamMemberChange,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const epoch = await lockEpoch(transaction, accountId, rowMacs);
  const isTeam = (await findTeam(transaction, { accountId, teamId })) !== undefined;
  const members = await listGenuineMembers(transaction, { accountId, epoch, rowMacs });
  const member = members.find((each) => each.personId === personId);
  if (!isTeam || member === undefined) throw requestFailure({ kind: "not-found" });
  const isIn = member.teamIds.includes(teamId);
  if (isIn && !member.groupTeamIds.includes(teamId)) return;
  if (!isIn && member.teamIds.length >= maxTeamsOfMember)
    throw requestFailure({ kind: "quota-exceeded", resource: "teams of a member", max: maxTeamsOfMember });
  const others = without(member, teamId);
  const changed = { ...others, teamIds: [...others.teamIds, teamId] };
  await storeTeams(transaction, { member: changed, epoch }, dependencies);
  const event = { type: "team-member-added", team: teamId, person: personId } as const;
  audit.record(transaction, { accountId, by: actor, event });
  await notifyAccess(transaction, accountId);
}

export async function removeTeamMember(
  transaction: Transaction,
  { actor, teamId, personId }: TeamMemberChange,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { accountId } = actor;
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  await inNewEpoch(transaction, { accountId, rowMacs }, async ({ previous, next }) => {
    const members = await listGenuineMembers(transaction, { accountId, epoch: previous, rowMacs });
    const member = members.find((each) => each.personId === personId && each.teamIds.includes(teamId));
    if (member === undefined) throw requestFailure({ kind: "not-found" });
    await storeTeams(transaction, { member: without(member, teamId), epoch: next }, dependencies);
    return {
      result: undefined,
      isRevoked: (row) => "member" in row && row.member.personId === personId,
    };
  });
  const event = { type: "team-member-removed", team: teamId, person: personId } as const;
  audit.record(transaction, { accountId, by: actor, event });
  await notifyAccess(transaction, accountId);
}

function without(member: MemberRow, teamId: string): MemberRow {
  const isOther = (id: string): boolean => id !== teamId;
  const { teamIds, groupTeamIds } = member;
  return { ...member, teamIds: teamIds.filter(isOther), groupTeamIds: groupTeamIds.filter(isOther) };
}

export async function storeTeams(
  transaction: Transaction,
  { member, epoch }: { readonly member: MemberRow; readonly epoch: number },
  { serverKeys: { rowMacs } }: Pick<ChangeDependencies, "serverKeys">,
): Promise<void> {
  await updateMemberTeams(transaction, { ...member, mac: rowMacs.compute({ member, epoch }) });
}
