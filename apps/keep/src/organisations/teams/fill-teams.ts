import type { AuditEntry } from "../../audit/audit-log.ts";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { notifyAccess } from "../../grants/change-grants.ts";
import { inNewEpoch, lockEpochIfActive } from "../../keys/row-integrity/account-epoch.ts";
import { listTeamGroupRows } from "../../keys/row-integrity/queries.ts";
import type { MemberRow } from "../../keys/row-integrity/row-macs.ts";
import type { ChangeDependencies } from "../change-members.ts";
import { findGenuineMember } from "../find-membership.ts";
import { listMemberRoutes, type MemberRef } from "../queries.ts";
import { storeTeams } from "./change-teams.ts";
import { planTeams, type TeamPlan } from "./plan-teams.ts";
import { type FilledTeam, findMemberRow, listFilledTeams } from "./queries.ts";

/** The groups of a person as a provider states them. Without a list, nobody knows which ones have ended. */
export type StatedGroups = readonly string[] | "too-many-groups" | "unreadable-groups";

export type FillDependencies = ChangeDependencies & {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount">;
};

/** Why a sign-in did not change all teams that it could have. */
export type SkippedGroups = "too-many-groups" | "unreadable-groups" | "too-many-teams";

type SignedIn = { readonly personId: string; readonly groups: StatedGroups };

/**
 * Adds the person to the teams of their organisations whose group the provider states, and removes them from those that only
 * a group had put them in. Joins no organisation.
 */
export async function fillTeams(
  { personId, groups }: SignedIn,
  dependencies: FillDependencies,
): Promise<SkippedGroups | undefined> {
  const stated = typeof groups === "string" ? groups : new Set(groups);
  let skipped: SkippedGroups | undefined;
  for (const accountId of await listMemberRoutes(dependencies.database, personId))
    skipped = (await fillTeamsOf({ accountId, personId }, stated, dependencies)) ?? skipped;
  return skipped;
}

type GroupSet = ReadonlySet<string> | Extract<StatedGroups, string>;

/** In one organisation. Locks it only if the person's teams change. */
async function fillTeamsOf(
  memberRef: MemberRef,
  groups: GroupSet,
  dependencies: FillDependencies,
): Promise<SkippedGroups | undefined> {
  const { database, audit } = dependencies;
  const member = await findGenuineMember(memberRef, dependencies);
  if (member === undefined) return undefined;
  const teams = await listFilledTeams(database, memberRef.accountId);
  if (teams.length === 0 && member.groupTeamIds.length === 0) return undefined;
  const plan = typeof groups === "string" ? undefined : planTeams(member, teams, groups);
  if (typeof groups !== "string" && plan !== undefined && isChange(plan))
    await database.inAccount(memberRef.accountId, (transaction) =>
      applyGroups(transaction, { memberRef, groups }, dependencies),
    );
  const reason = plan?.isLimited === true ? "too-many-teams" : undefined;
  const skipped = typeof groups === "string" ? groups : reason;
  if (skipped !== undefined)
    await database.inAccount(memberRef.accountId, async (transaction) =>
      audit.record(transaction, entryOf(memberRef, { type: "team-groups-skipped", reason: skipped })),
    );
  return skipped;
}

function isChange({ added, removed }: TeamPlan): boolean {
  return added.length + removed.length > 0;
}

type GroupChange = { readonly memberRef: MemberRef; readonly groups: ReadonlySet<string> };

/** Plans again with rows that are locked and genuine. A team whose group was changed in the database is filled by none. */
async function applyGroups(
  transaction: Transaction,
  { memberRef, groups }: GroupChange,
  dependencies: FillDependencies,
): Promise<void> {
  const { accountId } = memberRef;
  const { audit, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const epoch = await lockEpochIfActive(transaction, accountId, rowMacs);
  const row = await findMemberRow(transaction, memberRef);
  if (epoch === undefined || row === undefined) return;
  const { mac, ...member } = row;
  if (!rowMacs.isGenuine({ member, epoch }, mac)) return;
  const stored = await listTeamGroupRows(transaction, accountId);
  const teams = stored.filter((each) => {
    const { mac: groupMac, ...teamGroup } = each;
    return rowMacs.isGenuine({ teamGroup, epoch }, groupMac);
  });
  const plan = planTeams(member, teams, groups);
  if (!isChange(plan)) return;
  await storePlan(transaction, { member, plan, epoch }, dependencies);
  audit.record(transaction, ...describeChanges(memberRef, plan, stored));
  await notifyAccess(transaction, accountId);
}

type PlannedChange = { readonly member: MemberRow; readonly plan: TeamPlan; readonly epoch: number };

/** In a new epoch if the person leaves a team, so that the earlier row cannot be put back. */
async function storePlan(
  transaction: Transaction,
  { member, plan: { teamIds, groupTeamIds, removed }, epoch }: PlannedChange,
  dependencies: ChangeDependencies,
): Promise<void> {
  const { accountId, personId } = member;
  const { rowMacs } = dependencies.serverKeys;
  const changed = { ...member, teamIds, groupTeamIds };
  if (removed.length === 0) return storeTeams(transaction, { member: changed, epoch }, dependencies);
  await inNewEpoch(transaction, { accountId, rowMacs }, async ({ next }) => ({
    result: await storeTeams(transaction, { member: changed, epoch: next }, dependencies),
    isRevoked: (row) => "member" in row && row.member.personId === personId,
  }));
}

/** In the log of the organisation, by the server: the person signed in, and did not change the team. */
function describeChanges(
  memberRef: MemberRef,
  { added, removed }: TeamPlan,
  teams: readonly FilledTeam[],
): readonly AuditEntry[] {
  const groupOf = new Map(teams.map(({ teamId, externalGroup }) => [teamId, externalGroup]));
  const describe = (type: "team-member-added" | "team-member-removed", team: string): AuditEntry => {
    const group = groupOf.get(team);
    return entryOf(memberRef, { type, team, ...(group === undefined ? {} : { group }) });
  };
  return [
    ...removed.map((team) => describe("team-member-removed", team)),
    ...added.map((team) => describe("team-member-added", team)),
  ];
}

type EventOfMember =
  | {
      readonly type: "team-member-added" | "team-member-removed";
      readonly team: string;
      readonly group?: string;
    }
  | { readonly type: "team-groups-skipped"; readonly reason: SkippedGroups };

function entryOf({ accountId, personId }: MemberRef, event: EventOfMember): AuditEntry {
  return { accountId, by: "server", event: { ...event, person: personId } };
}
