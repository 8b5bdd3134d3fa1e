import type { Team } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KeepWithProviders, startKeepWithProviders } from "../../test/start-keep-with-providers.ts";
import { addFilledTeam, addGroupMember, findTeams } from "../test/group-members.ts";
import {
  createOrganisation,
  createVault,
  readEvents,
  share,
  statusOf,
  succeed,
  type TestOrganisation,
  valueOf,
} from "../test/shared-vault.ts";
import { addTeammate, createTeam, type Teammate } from "../test/start-team.ts";

let fixture: KeepWithProviders;
let acme: TestOrganisation;
let owner: Teammate;
let teams: string;
beforeAll(async () => {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000", groupsClaim: "groups" };
  fixture = await startKeepWithProviders({ settings });
  acme = await createOrganisation(fixture.keep);
  owner = acme.owner;
  teams = `${acme.organisation}/teams`;
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function groupOf(id: string, by = owner): Promise<string | null | undefined> {
  const { items } = await succeed<{ items: Team[] }>(by, "GET", teams);
  return items.find((team) => team.id === id)?.external_group;
}

const change = (team: string, externalGroup: unknown, by = owner) =>
  statusOf(by, "PATCH", `${teams}/${team}`, { external_group: externalGroup });

test("an owner sets, changes and removes the group of a team, and each change is in the log", async () => {
  const created = await succeed<Team>(owner, "POST", teams, { name: "Plain" });
  expect(created.external_group).toBeNull();
  expect(await change(created.id, "first")).toBe(204);
  expect(await groupOf(created.id)).toBe("first");
  // The same group again changes nothing.
  expect(await change(created.id, "first")).toBe(204);
  const both = { name: "Renamed", external_group: "second" };
  expect(await statusOf(owner, "PATCH", `${teams}/${created.id}`, both)).toBe(204);
  expect(await change(created.id, null)).toBe(204);
  expect(await groupOf(created.id)).toBeNull();
  const ofTeam = { team: created.id, by: `person:${owner.accountId}` };
  const changed = { type: "team-group-changed", removed: 0, ...ofTeam };
  const events = await readEvents(owner, acme.organisation);
  expect(events.slice(0, 5)).toMatchObject([
    changed,
    { ...changed, group: "second" },
    { type: "team-renamed", name: "Renamed", ...ofTeam },
    { ...changed, group: "first" },
    { type: "team-created", ...ofTeam },
  ]);
  expect(events[0]).not.toHaveProperty("group");
  const filled = await addFilledTeam(acme, "third");
  expect(await groupOf(filled)).toBe("third");
  expect((await readEvents(owner, acme.organisation))[0]).toMatchObject({
    type: "team-group-changed",
    team: filled,
    group: "third",
  });
});

test("only owners set the group of a team, and everybody in the organisation sees it", async () => {
  const team = await addFilledTeam(acme, "visible");
  const globex = await createOrganisation(fixture.keep);
  for (const person of [await acme.add(), await acme.add("auditor")]) {
    expect(await change(team, "taken", person)).toBe(403);
    const body = { name: "Mine", external_group: "taken" };
    expect(await statusOf(person, "POST", teams, body)).toBe(403);
    expect(await groupOf(team, person)).toBe("visible");
  }
  expect(await change(team, "taken", globex.owner)).toBe(404);
  expect(
    await statusOf(globex.owner, "PATCH", `${globex.organisation}/teams/${team}`, {
      external_group: "taken",
    }),
  ).toBe(404);
  expect(await groupOf(team)).toBe("visible");
  expect(await change(team, "changed")).toBe(204);
});

test("a group requires a recent sign-in, as adding a member does, and a name does not", async () => {
  const stale = await addTeammate(fixture.keep, undefined, "1 hour");
  const organisation = await createTeam(stale);
  const tooOld = { status: 403, body: { code: "fresh_sign_in_required" } };
  const body = { name: "Team", external_group: "group" };
  expect(await stale.send("POST", `${organisation}/teams`, body)).toMatchObject(tooOld);
  const created = await succeed<Team>(stale, "POST", `${organisation}/teams`, { name: "Team" });
  const path = `${organisation}/teams/${created.id}`;
  for (const externalGroup of ["group", null])
    expect(await stale.send("PATCH", path, { external_group: externalGroup })).toMatchObject(tooOld);
  expect(await statusOf(stale, "PATCH", path, { name: "Renamed" })).toBe(204);
});

test("a group is a line of text within its limits, and a change says what it changes", async () => {
  const team = await addFilledTeam(acme, "limits");
  for (const group of [
    "",
    " ",
    " group",
    "group\n",
    "gr\u0000oup",
    "gr\u200boup",
    "x".repeat(256),
    1,
    {},
    ["a"],
  ])
    expect([group, await change(team, group)]).toEqual([group, 422]);
  for (const body of [{}, { external_group: "a", id: "b" }])
    expect(await statusOf(owner, "PATCH", `${teams}/${team}`, body)).toBe(422);
  expect(await groupOf(team)).toBe("limits");
  for (const group of ["x".repeat(255), "/Engineering/Platform Team", "CN=Ops,OU=Groups,DC=example", "ärzte"])
    expect([group, await change(team, group)]).toEqual([group, 204]);
});

test("who was in a team by its earlier group is out once the group changes or is removed, and others stay", async () => {
  const team = await addFilledTeam(acme, "before");
  const [filled, added] = [
    await addGroupMember(fixture, fixture.keep, acme),
    await addGroupMember(fixture, fixture.keep, acme),
  ];
  const vault = await createVault(owner, acme.organisation, ["/KEY"]);
  await share(owner, vault, { holder: { type: "team", id: team }, role: "reader" });
  expect(await statusOf(owner, "PUT", `${teams}/${team}/members/${added.accountId}`)).toBe(204);
  const inTeam = async () =>
    Promise.all(
      [filled, added].map(async ({ browser }) => (await browser.request(valueOf(vault, "/KEY"))).status),
    );
  for (const group of ["after", null]) {
    await filled.signIn({ groups: ["before", "after"] });
    expect(await inTeam()).toEqual([200, 200]);
    expect(await change(team, group)).toBe(204);
    expect(await inTeam()).toEqual([404, 200]);
    expect(await findTeams(acme, filled)).toEqual({ all: [], fromGroups: [] });
    const event = { type: "team-group-changed", team, removed: 1 };
    expect((await readEvents(owner, acme.organisation))[0]).toMatchObject(event);
  }
  await filled.signIn({ groups: ["before", "after"] });
  expect(await inTeam()).toEqual([404, 200]);
});

test("a team that is deleted fills nobody, and whoever left and joins again is filled at the next sign-in", async () => {
  const [team, deleted] = [await addFilledTeam(acme, "kept"), await addFilledTeam(acme, "kept")];
  const member = await addGroupMember(fixture, fixture.keep, acme);
  await member.signIn({ groups: ["kept"] });
  expect((await findTeams(acme, member))?.all.toSorted()).toEqual([team, deleted].toSorted());
  expect(await statusOf(owner, "DELETE", `${teams}/${deleted}`)).toBe(204);
  expect(await findTeams(acme, member)).toEqual({ all: [team], fromGroups: [team] });
  const path = `${acme.organisation}/members/${member.accountId}`;
  expect(await statusOf(owner, "PATCH", path, { role: "auditor" })).toBe(204);
  expect(await findTeams(acme, member)).toEqual({ all: [team], fromGroups: [team] });
  expect(await statusOf(owner, "DELETE", path)).toBe(204);
  await member.signIn({ groups: ["kept"] });
  expect(await findTeams(acme, member)).toBeUndefined();
});
