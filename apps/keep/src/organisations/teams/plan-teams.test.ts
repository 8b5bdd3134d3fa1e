import { expect, test } from "vitest";
import { seededRandom } from "../../test/seeded-random.ts";
import { maxTeamsOfMember, planTeams } from "./plan-teams.ts";

const team = (teamId: string, externalGroup = teamId) => ({ teamId, externalGroup });
const member = (byHand: readonly string[], byGroup: readonly string[] = []) => ({
  teamIds: [...byHand, ...byGroup],
  groupTeamIds: byGroup,
});

test("a member joins the teams whose group is named, and leaves those that only a group gave", () => {
  const teams = [team("a"), team("b"), team("c"), team("d", "a")];
  expect(planTeams(member(["x"], ["b", "c"]), teams, new Set(["a", "b", "unknown"]))).toEqual({
    teamIds: ["x", "b", "a", "d"],
    groupTeamIds: ["b", "a", "d"],
    added: ["a", "d"],
    removed: ["c"],
    isLimited: false,
  });
});

test("a team in which an owner put the member stays, and stays theirs, whatever is named", () => {
  for (const groups of [[], ["a"]])
    expect(planTeams(member(["a"]), [team("a")], new Set(groups))).toMatchObject({
      teamIds: ["a"],
      groupTeamIds: [],
      added: [],
      removed: [],
    });
});

test("a group's team whose group is gone is left", () => {
  expect(planTeams(member([], ["a"]), [], new Set(["a"]))).toMatchObject({ teamIds: [], removed: ["a"] });
});

test("a member is in at most 100 teams, and leaving one makes room for another", () => {
  const byHand = Array.from({ length: maxTeamsOfMember - 1 }, (_, index) => `hand-${index}`);
  const teams = [team("a"), team("b")];
  const full = planTeams(member(byHand), teams, new Set(["a", "b"]));
  expect([full.added, full.isLimited, full.teamIds.length]).toEqual([["a"], true, maxTeamsOfMember]);
  const moved = planTeams(member(byHand, ["a"]), teams, new Set(["b"]));
  expect([moved.added, moved.removed, moved.isLimited]).toEqual([["b"], ["a"], false]);
});

test("for 2,000 random members and groups, the teams are those of owners and those that are named, each once", () => {
  const random = seededRandom(7);
  const names = ["a", "b", "c", "d", "e", "f"];
  const some = () => names.filter(() => random.pick([true, false]));
  for (let round = 0; round < 2000; round += 1) {
    const byHand = some();
    const before = member(
      byHand,
      some().filter((name) => !byHand.includes(name)),
    );
    const teams = some().map((name) => team(name, random.pick(names)));
    const groups = new Set(some());
    const named = teams.filter(({ externalGroup }) => groups.has(externalGroup)).map(({ teamId }) => teamId);
    const plan = planTeams(before, teams, groups);
    expect(plan.teamIds.toSorted()).toEqual([...new Set([...byHand, ...named])].toSorted());
    expect(plan.groupTeamIds.toSorted()).toEqual(named.filter((id) => !byHand.includes(id)).toSorted());
    // Applied again, it changes nothing.
    expect(planTeams(plan, teams, groups)).toMatchObject({ added: [], removed: [] });
  }
});
