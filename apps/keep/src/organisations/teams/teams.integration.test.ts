import type { Member, Team, VaultGrant } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateId } from "../../generate-id.ts";
import { signAllRows } from "../../keys/row-integrity/account-epoch.ts";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import {
  addTeam,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  read,
  readEvents,
  share,
  statusOf,
  succeed,
  type TestOrganisation,
} from "../test/shared-vault.ts";
import { join, type Teammate } from "../test/start-team.ts";

let keep: TestKeep;
let acme: TestOrganisation;
let owner: Teammate;
let organisation: string;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  acme = await createOrganisation(keep);
  ({ owner, organisation } = acme);
});
afterAll(() => keep[Symbol.asyncDispose]());

const listTeams = async (by = owner, of = organisation): Promise<readonly Team[]> =>
  (await succeed<{ items: Team[] }>(by, "GET", `${of}/teams`)).items;

async function teamsOf({ accountId }: Teammate): Promise<readonly string[] | undefined> {
  const { items } = await succeed<{ items: Member[] }>(owner, "GET", `${organisation}/members`);
  return items.find(({ person_id: id }) => id === accountId)?.team_ids;
}

const createNamed = (name: unknown) => statusOf(owner, "POST", `${organisation}/teams`, { name });

/** As many statements on rows as requests could not make in time, signed as Keep does. */
async function changeRows(
  text: string,
  values: readonly unknown[],
  accountId = acme.accountId,
): Promise<void> {
  await keep.database.inAccount(accountId, async (transaction) => {
    await transaction.query({ text, values: [accountId, ...values] });
    await signAllRows(transaction, accountId, keep.services.serverKeys.rowMacs);
  });
}

test("a team is created, renamed, listed with its members and deleted, and each change is in the log", async () => {
  const [first, second] = [await acme.add(), await acme.add()];
  const created = await succeed<Team>(owner, "POST", `${organisation}/teams`, { name: "Ärzte & Co" });
  expect(created).toMatchObject({ name: "Ärzte & Co", members: 0 });
  const path = `${organisation}/teams/${created.id}`;
  for (const { accountId } of [first, second, first])
    expect(await statusOf(owner, "PUT", `${path}/members/${accountId}`)).toBe(204);
  expect(await statusOf(owner, "PATCH", path, { name: "Operations" })).toBe(204);
  // A member sees them too.
  expect(await listTeams(first)).toContainEqual({ ...created, name: "Operations", members: 2 });
  expect(await teamsOf(first)).toEqual([created.id]);
  expect(await statusOf(owner, "DELETE", `${path}/members/${first.accountId}`)).toBe(204);
  expect(await statusOf(owner, "DELETE", `${path}/members/${first.accountId}`)).toBe(404);
  expect(await statusOf(owner, "DELETE", path)).toBe(204);
  expect(await statusOf(owner, "DELETE", path)).toBe(404);
  expect((await listTeams()).map(({ id }) => id)).not.toContain(created.id);
  expect([await teamsOf(first), await teamsOf(second)]).toEqual([[], []]);
  const ofTeam = { team: created.id, by: `person:${owner.accountId}` };
  expect((await readEvents(owner, organisation)).slice(0, 6)).toMatchObject([
    { type: "team-deleted", name: "Operations", ...ofTeam },
    { type: "team-member-removed", person: first.accountId, ...ofTeam },
    { type: "team-renamed", name: "Operations", ...ofTeam },
    // Whoever is in the team already is not added again.
    { type: "team-member-added", person: second.accountId, ...ofTeam },
    { type: "team-member-added", person: first.accountId, ...ofTeam },
    { type: "team-created", name: "Ärzte & Co", ...ofTeam },
  ]);
});

test("only owners change teams, and auditors see them", async () => {
  const [member, auditor] = [await acme.add(), await acme.add("auditor")];
  const { path } = await addTeam(owner, organisation);
  const self = (person: Teammate) => `${path}/members/${person.accountId}`;
  for (const person of [member, auditor]) {
    expect(await statusOf(person, "POST", `${organisation}/teams`, { name: "Mine" })).toBe(403);
    expect(await statusOf(person, "PATCH", path, { name: "Mine" })).toBe(403);
    expect(await statusOf(person, "PUT", self(person))).toBe(403);
    expect(await statusOf(person, "DELETE", path)).toBe(403);
    expect((await listTeams(person)).map(({ id }) => id)).toContain(idOf(path));
  }
  expect(await statusOf(owner, "PUT", self(member))).toBe(204);
  expect(await statusOf(member, "DELETE", self(member))).toBe(403);
  expect(await statusOf(owner, "DELETE", self(member))).toBe(204);
});

test("a team has members of its organisation only, and is found nowhere else", async () => {
  const globex = await createOrganisation(keep);
  const member = await acme.add();
  const [own, foreign] = [
    await addTeam(owner, organisation),
    await addTeam(globex.owner, globex.organisation),
  ];
  const add = (team: string, person: string) =>
    statusOf(owner, "PUT", `${organisation}/teams/${team}/members/${person}`);
  expect(await add(own.id, globex.owner.accountId)).toBe(404);
  expect(await add(foreign.id, member.accountId)).toBe(404);
  expect(await add(generateId(), member.accountId)).toBe(404);
  expect(await add(own.id, generateId())).toBe(404);
  expect(await add("no-such-team", member.accountId)).toBe(404);
  expect(await add(own.id, member.accountId)).toBe(204);
  for (const [method, body] of [["PATCH", { name: "Taken" }], ["DELETE"]] as const)
    expect(await statusOf(owner, method, `${organisation}/teams/${foreign.id}`, body)).toBe(404);
  expect(await statusOf(owner, "PUT", `${foreign.path}/members/${member.accountId}`)).toBe(404);
  expect(await listTeams(globex.owner, globex.organisation)).toMatchObject([{ id: foreign.id, members: 0 }]);
});

test("the name of a team is a line of text within its limits", async () => {
  for (const name of ["", " ", "two\nlines", "x".repeat(201), 1, null])
    expect(await createNamed(name)).toBe(422);
  expect(await createNamed("x".repeat(200))).toBe(201);
});

test("an organisation has at most 500 teams, and a member is in at most 100", async () => {
  const full = await createOrganisation(keep);
  const member = await full.add();
  const last = await addTeam(full.owner, full.organisation);
  await changeRows(
    "INSERT INTO team (id, account_id, name) SELECT gen_random_uuid(), $1, 'Team ' || number FROM generate_series(1, 498) AS number",
    [],
    full.accountId,
  );
  const create = () => full.owner.send("POST", `${full.organisation}/teams`, { name: "Another" });
  expect((await create()).status).toBe(201);
  const quotaExceeded = { status: 409, body: { code: "quota_exceeded" } };
  expect(await create()).toMatchObject(quotaExceeded);
  expect(await listTeams(full.owner, full.organisation)).toHaveLength(500);
  const add = (person: Teammate) => full.owner.send("PUT", `${last.path}/members/${person.accountId}`);
  await changeRows(
    "UPDATE member SET team_ids = (SELECT array_agg(id) FROM (SELECT id FROM team WHERE account_id = $1 AND id <> $3 LIMIT 100) AS chosen) WHERE account_id = $1 AND person_id = $2",
    [member.accountId, last.id],
    full.accountId,
  );
  expect(await add(member)).toMatchObject(quotaExceeded);
  const [leaving] = (await listTeams(full.owner, full.organisation)).filter(({ members }) => members === 1);
  const path = `${full.organisation}/teams/${leaving?.id}`;
  expect(await statusOf(full.owner, "DELETE", `${path}/members/${member.accountId}`)).toBe(204);
  expect((await add(member)).status).toBe(204);
});

test("deleting a team takes its grants in all vaults, and leaves those of its members", async () => {
  const [creator, person] = [await acme.add(), await acme.add()];
  const vaults = [
    await createVault(creator, organisation, ["/KEY"]),
    await createVault(creator, organisation, ["/KEY"]),
  ] as const;
  const team = await addTeam(owner, organisation, [person]);
  const other = await addTeam(owner, organisation, [person]);
  const holder = { type: "team", id: team.id } as const;
  const grants = [
    await share(creator, vaults[0], { holder, role: "reader" }),
    await share(creator, vaults[1], { holder, role: "editor", paths: ["/KEY"] }),
  ];
  const kept = await share(creator, vaults[1], { holder: { type: "team", id: other.id }, role: "reader" });
  expect([await read(person, vaults[0], "/KEY"), await read(person, vaults[1], "/KEY")]).toEqual([200, 200]);
  expect(await statusOf(owner, "DELETE", team.path)).toBe(204);
  expect([await read(person, vaults[0], "/KEY"), await read(person, vaults[1], "/KEY")]).toEqual([404, 200]);
  for (const [index, vault] of vaults.entries()) {
    const { items } = await succeed<{ items: VaultGrant[] }>(creator, "GET", `${vault}/grants`);
    const ids = items.map(({ id }) => id);
    expect(ids).not.toContain(idOf(grants[index] ?? ""));
    expect(ids.includes(idOf(kept))).toBe(index === 1);
    expect(items[0]).toMatchObject({ holder: personHolder(creator), role: "manager" });
    const removed = { type: "grant-removed", holder: `team:${team.id}`, by: `person:${owner.accountId}` };
    expect(await readEvents(creator, vault)).toContainEqual(expect.objectContaining(removed));
  }
  expect(await teamsOf(person)).toEqual([other.id]);
});

test("whoever was removed and joins again is in no team and has no grant", async () => {
  const [creator, person] = [await acme.add(), await acme.add()];
  const vault = await createVault(creator, organisation, ["/a/KEY", "/b/KEY"]);
  const team = await addTeam(owner, organisation, [person]);
  await share(creator, vault, { holder: { type: "team", id: team.id }, role: "reader", paths: ["/a/*"] });
  await share(creator, vault, { holder: personHolder(person), role: "reader", paths: ["/b/*"] });
  const reads = async () => [await read(person, vault, "/a/KEY"), await read(person, vault, "/b/KEY")];
  expect(await reads()).toEqual([200, 200]);
  expect(await statusOf(owner, "DELETE", `${organisation}/members/${person.accountId}`)).toBe(204);
  expect((await listTeams()).find(({ id }) => id === team.id)?.members).toBe(0);
  expect(await reads()).toEqual([404, 404]);
  await join(owner, organisation, [person, "member"]);
  expect([await teamsOf(person), await reads()]).toEqual([[], [404, 404]]);
  expect(await statusOf(owner, "PUT", `${team.path}/members/${person.accountId}`)).toBe(204);
  expect(await reads()).toEqual([200, 403]);
});

test("teams and grants make nobody an owner: the last owner stays one, and of two who remove each other one remains", async () => {
  const own = await createOrganisation(keep);
  const member = await own.add();
  const vault = await createVault(own.owner, own.organisation);
  const team = await addTeam(own.owner, own.organisation, [member, own.owner]);
  await share(own.owner, vault, { holder: { type: "team", id: team.id }, role: "manager" });
  const lastOwner = { status: 409, body: { code: "last_owner" } };
  expect(await own.owner.send("POST", `${own.organisation}/leave`)).toMatchObject(lastOwner);
  // Nothing of what goes with a membership was taken by the attempt.
  const grants = await succeed<{ items: unknown[] }>(own.owner, "GET", `${vault}/grants`);
  expect(grants.items).toHaveLength(2);
  const path = ({ accountId }: Teammate) => `${own.organisation}/members/${accountId}`;
  expect(await statusOf(own.owner, "PATCH", path(member), { role: "owner" })).toBe(204);
  const statuses = await Promise.all([
    statusOf(own.owner, "DELETE", path(member)),
    statusOf(member, "DELETE", path(own.owner)),
  ]);
  expect(statuses.filter((status) => status === 204)).toHaveLength(1);
  const found = await Promise.all(
    [own.owner, member].map((person) => statusOf(person, "GET", own.organisation)),
  );
  expect(found.toSorted((one, two) => one - two)).toEqual([200, 404]);
});
