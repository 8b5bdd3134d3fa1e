import type { MemberRow } from "../../keys/row-integrity/row-macs.ts";
import type { FilledTeam } from "./queries.ts";

export type TeamPlan = Pick<MemberRow, "teamIds" | "groupTeamIds"> & {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Groups name more teams than a member can be in. */
  readonly isLimited: boolean;
};

export const maxTeamsOfMember = 100;

/**
 * What the groups of a sign-in make of a member's teams. Names are equal only in every code point: a group that looks like
 * another one, or differs from it in case, is another group. Teams in which an owner put the member stay.
 */
export function planTeams(
  { teamIds, groupTeamIds }: Pick<MemberRow, "teamIds" | "groupTeamIds">,
  teams: readonly FilledTeam[],
  groups: ReadonlySet<string>,
): TeamPlan {
  const named = new Set(
    teams.filter(({ externalGroup }) => groups.has(externalGroup)).map(({ teamId }) => teamId),
  );
  const removed = new Set(groupTeamIds.filter((id) => !named.has(id)));
  const kept = teamIds.filter((id) => !removed.has(id));
  const missing = [...named].filter((id) => !kept.includes(id));
  const added = missing.slice(0, maxTeamsOfMember - kept.length);
  return {
    teamIds: [...kept, ...added],
    groupTeamIds: [...groupTeamIds.filter((id) => named.has(id)), ...added],
    added,
    removed: [...removed],
    isLimited: added.length < missing.length,
  };
}
