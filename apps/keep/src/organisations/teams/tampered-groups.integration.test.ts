import { Hidden } from "@hearth-and-keep/logging";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyDatabase } from "../../commands/verify-audit.ts";
import { readKeys } from "../../keys/key-encryption-key.ts";
import { copyRows } from "../../test/copy-rows.ts";
import { type KeepWithProviders, startKeepWithProviders } from "../../test/start-keep-with-providers.ts";
import { addFilledTeam, addGroupMember, findTeams, type GroupPerson } from "../test/group-members.ts";
import { createOrganisation, statusOf, type TestOrganisation } from "../test/shared-vault.ts";

let fixture: KeepWithProviders;
let superuser: Client;
let acme: TestOrganisation;
let attacker: GroupPerson;
let member: GroupPerson;
/** Is filled by the group `trusted`, in which the attacker is not. */
let team: string;

beforeAll(async () => {
  fixture = await startKeepWithProviders({ settings: { groupsClaim: "groups" } });
  superuser = new Client(fixture.keep.databaseUrl);
  await superuser.connect();
  acme = await createOrganisation(fixture.keep);
  team = await addFilledTeam(acme, "trusted");
  attacker = await addGroupMember(fixture, fixture.keep, acme);
  member = await addGroupMember(fixture, fixture.keep, acme);
});
afterAll(async () => {
  await superuser.end();
  await fixture[Symbol.asyncDispose]();
});

async function findTampered(): Promise<readonly string[]> {
  const lines: string[] = [];
  const { keep } = fixture;
  await keep.services.nodeLog.append();
  await verifyDatabase(
    {},
    { database: keep.database, wrapper: readKeys(new Hidden(keep.key)), print: (line) => lines.push(line) },
  );
  return lines;
}

const none = { all: [], fromGroups: [] };
const inTeam = () => ({ all: [team], fromGroups: [team] });
const rows = [{ table: "team", column: "account_id" }] as const;
const copyTeams = () =>
  copyRows(
    superuser,
    rows.map((row) => ({ ...row, value: acme.accountId })),
  );

/** Signs in the attacker while the rows are changed, and both people once they are as before. */
async function tryAttack(attack: () => Promise<unknown>, finding: string) {
  const genuine = await copyTeams();
  await attack();
  await attacker.signIn({ groups: ["everyone"] });
  const during = await findTeams(acme, attacker);
  const isFound = (await findTampered()).includes(finding);
  await genuine.putBack();
  await attacker.signIn({ groups: ["everyone"] });
  await member.signIn({ groups: ["trusted"] });
  const afterwards = [await findTeams(acme, attacker), await findTeams(acme, member)];
  return { during, isFound, afterwards, isFoundAfterwards: (await findTampered()).includes(finding) };
}

const harmless = () => ({
  during: none,
  isFound: true,
  afterwards: [none, inTeam()],
  isFoundAfterwards: false,
});

test("a group that was set in the database fills nothing", async () => {
  const effect = await tryAttack(
    () => superuser.query("UPDATE team SET external_group = 'everyone' WHERE id = $1", [team]),
    `team ${team} of ${acme.accountId}: its group is not genuine`,
  );
  expect(effect).toEqual(harmless());
});

test("a group that was removed in the database is missed", async () => {
  const effect = await tryAttack(
    () => superuser.query("UPDATE team SET external_group = NULL, mac = NULL WHERE id = $1", [team]),
    `team ${team} of ${acme.accountId}: its group was removed`,
  );
  expect(effect).toEqual(harmless());
});

test("the group of one team with its MAC does not fill another team", async () => {
  const open = await addFilledTeam(acme, "everyone");
  const move =
    "UPDATE team SET external_group = other.external_group, mac = other.mac FROM team AS other WHERE other.id = $1 AND team.id = $2";
  const genuine = await copyTeams();
  await superuser.query(move, [open, team]);
  await attacker.signIn({ groups: ["everyone"] });
  expect(await findTeams(acme, attacker)).toEqual({ all: [open], fromGroups: [open] });
  expect(await findTampered()).toContainEqual(`team ${team} of ${acme.accountId}: its group is not genuine`);
  await genuine.putBack();
  expect(await statusOf(acme.owner, "DELETE", `${acme.organisation}/teams/${open}`)).toBe(204);
  await attacker.signIn({ groups: ["everyone"] });
  expect(await findTeams(acme, attacker)).toEqual(none);
});

test("an earlier group that was put back fills nothing", async () => {
  const path = `${acme.organisation}/teams/${team}`;
  expect(await statusOf(acme.owner, "PATCH", path, { external_group: "everyone" })).toBe(204);
  const earlier = await copyTeams();
  expect(await statusOf(acme.owner, "PATCH", path, { external_group: "trusted" })).toBe(204);
  const effect = await tryAttack(
    () => earlier.putBack(),
    `team ${team} of ${acme.accountId}: its group is not genuine`,
  );
  expect(effect).toEqual(harmless());
});

test("a member's row in which a group's team became an owner's opens nothing", async () => {
  await member.signIn({ groups: ["trusted"] });
  const selectors = [{ table: "member", column: "person_id", value: member.accountId }];
  const genuine = await copyRows(superuser, selectors);
  const isMember = async () => (await member.browser.request(acme.organisation)).status;
  expect(await isMember()).toBe(200);
  await superuser.query("UPDATE member SET group_team_ids = '{}' WHERE person_id = $1", [member.accountId]);
  expect(await isMember()).toBe(404);
  // A sign-in does not sign the row again.
  await member.signIn({ groups: [] });
  expect(await isMember()).toBe(404);
  const finding = `member ${member.accountId} of ${acme.accountId} is not genuine`;
  expect(await findTampered()).toContainEqual(finding);
  await genuine.putBack();
  expect([await isMember(), await findTeams(acme, member)]).toEqual([200, inTeam()]);
  expect(await findTampered()).not.toContainEqual(finding);
});

test("a member's row of before a sign-in that left a team is worth nothing", async () => {
  await member.signIn({ groups: ["trusted"] });
  const selectors = [{ table: "member", column: "person_id", value: member.accountId }];
  const earlier = await copyRows(superuser, selectors);
  await member.signIn({ groups: [] });
  const left = await copyRows(superuser, selectors);
  const isMember = async () => (await member.browser.request(acme.organisation)).status;
  await earlier.putBack();
  expect(await isMember()).toBe(404);
  await left.putBack();
  expect([await isMember(), await findTeams(acme, member)]).toEqual([200, none]);
});
