import { Hidden } from "@hearth-and-keep/logging";
import type { Account, Member, Organisation } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resumeAccount, suspendAccount } from "../accounts/suspend-account.ts";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { addTeammate, createTeam, invite, join, type Teammate } from "./test/start-team.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep({ settings: { readsPerMinute: "1000000", writesPerMinute: "1000000" } });
});
afterAll(() => keep[Symbol.asyncDispose]());

const runSql = (text: string, values: readonly unknown[] = []) =>
  asSuperuser(keep.databaseUrl, async (superuser) => (await superuser.query(text, [...values])).rows);

const idOf = (team: string): string => team.split("/").at(-1) ?? "";

async function listMembers(person: Teammate, team: string): Promise<readonly Member[]> {
  return (await person.send<{ items: Member[] }>("GET", `${team}/members`)).body.items;
}

const nameOf = async (person: Teammate): Promise<string> =>
  (await person.send<Account>("GET", "/api/account")).body.display_name;
const remove = async (person: Teammate, confirm: string): Promise<number> =>
  (await person.send("DELETE", "/api/account", { confirm })).status;

async function startTeam() {
  const [owner, other] = [await addTeammate(keep), await addTeammate(keep)];
  const team = await createTeam(owner);
  await join(owner, team, [other, "member"]);
  return { owner, other, team, memberOf: ({ accountId }: Teammate) => `${team}/members/${accountId}` };
}

test("whoever creates an organisation owns it, and only its members see it", async () => {
  const owner = await addTeammate(keep, "Olga");
  const outsider = await addTeammate(keep);
  const team = await createTeam(owner, "Ärzte & Co");
  const expected = { id: idOf(team), name: "Ärzte & Co", role: "owner" };
  expect(await owner.send<Organisation>("GET", team)).toMatchObject({ status: 200, body: expected });
  expect(await owner.send("GET", "/api/organisations")).toMatchObject({ body: { items: [expected] } });
  expect(await listMembers(owner, team)).toMatchObject([
    { person_id: owner.accountId, display_name: "Olga", role: "owner" },
  ]);
  expect((await outsider.send("GET", team)).status).toBe(404);
  expect(await outsider.send("GET", "/api/organisations")).toMatchObject({ body: { items: [] } });
  expect(await owner.send("PATCH", team, { name: "Acme" })).toMatchObject({ body: { name: "Acme" } });
  expect((await owner.send("PATCH", team, { name: " " })).status).toBe(422);
  // The personal account is what it was.
  expect(await owner.send<Account>("GET", "/api/account")).toMatchObject({
    body: { id: owner.accountId, holds: { vaults: 1 } },
  });
});

test("members are listed page by page", async () => {
  const { owner, other, team } = await startTeam();
  type Page = { items: Member[]; next_cursor?: string };
  const { body: first } = await owner.send<Page>("GET", `${team}/members?limit=1`);
  expect(first.items).toHaveLength(1);
  const { body: rest } = await owner.send<Page>("GET", `${team}/members?cursor=${first.next_cursor}`);
  const ids = [...first.items, ...rest.items].map(({ person_id: id }) => id);
  expect(ids).toEqual([owner.accountId, other.accountId].toSorted());
  expect(rest.next_cursor).toBeUndefined();
});

test("a changed role and a removal are in force at the next request", async () => {
  const { owner, other, team, memberOf } = await startTeam();
  expect((await other.send("GET", `${team}/audit`)).status).toBe(403);
  expect((await owner.send("PATCH", memberOf(other), { role: "auditor" })).status).toBe(204);
  expect((await other.send("GET", `${team}/audit`)).status).toBe(200);
  expect((await owner.send("PATCH", memberOf(other), { role: "admin" })).status).toBe(422);
  expect((await owner.send("DELETE", memberOf(other))).status).toBe(204);
  expect((await other.send("GET", team)).status).toBe(404);
  expect((await owner.send("DELETE", memberOf(other))).status).toBe(404);
  const { body } = await owner.send<{ items: { body: object }[] }>("GET", `${team}/audit`);
  const by = `person:${owner.accountId}`;
  expect(body.items.slice(0, 2).map(({ body: event }) => event)).toMatchObject([
    { type: "member-removed", person: other.accountId, by },
    { type: "member-changed", person: other.accountId, role: "auditor", by },
  ]);
});

test("a member leaves with the invitations that they created; the last owner cannot leave", async () => {
  const { owner, other, team, memberOf } = await startTeam();
  const lastOwner = { status: 409, body: { code: "last_owner" } };
  expect(await owner.send("POST", `${team}/leave`)).toMatchObject(lastOwner);
  expect(await owner.send("DELETE", memberOf(owner))).toMatchObject(lastOwner);
  expect(await owner.send("PATCH", memberOf(owner), { role: "member" })).toMatchObject(lastOwner);
  expect((await owner.send("PATCH", memberOf(other), { role: "owner" })).status).toBe(204);
  const code = await invite(owner, team, { role: "owner" });
  expect((await owner.send("POST", `${team}/leave`)).status).toBe(204);
  expect((await owner.send("GET", team)).status).toBe(404);
  expect((await owner.send("POST", "/api/invitations/accept", { code })).status).toBe(404);
  expect(await other.send("POST", `${team}/leave`)).toMatchObject(lastOwner);
});

test("of 200 demotions at once, one owner remains", { timeout: 240_000 }, async () => {
  const founder = await addTeammate(keep);
  const others = [await addTeammate(keep), await addTeammate(keep)];
  const owners = [founder, ...others];
  const team = await createTeam(founder);
  for (const person of others) await join(founder, team, [person, "owner"]);
  const demotions = Array.from({ length: 200 }, (_, index) => {
    const by = owners[index % owners.length] ?? founder;
    const demoted = owners[Math.floor(index / owners.length) % owners.length] ?? founder;
    return by.send("PATCH", `${team}/members/${demoted.accountId}`, { role: "member" });
  });
  const statuses = new Set((await Promise.all(demotions)).map(({ status }) => status));
  // Of those who are no longer owners, requests are refused by their role.
  for (const status of statuses) expect([204, 403, 409]).toContain(status);
  const remaining = (await listMembers(founder, team)).filter(({ role }) => role === "owner");
  expect(remaining).toHaveLength(1);
});

test("an account is not deleted while it is the last owner of an organisation, and else leaves all of them", async () => {
  const { owner, other, team } = await startTeam();
  expect(await remove(owner, await nameOf(owner))).toBe(409);
  expect(await remove(other, "another name")).toBe(422);
  expect(await listMembers(owner, team)).toHaveLength(2);
  expect(await remove(other, await nameOf(other))).toBe(204);
  expect(await listMembers(owner, team)).toMatchObject([{ person_id: owner.accountId }]);
  const routes = await runSql("SELECT FROM member_route WHERE person_id = $1", [other.accountId]);
  expect(routes).toHaveLength(0);
});

test("deleting an organisation needs its name, and leaves its members as they were", async () => {
  const { owner, other, team } = await startTeam();
  const code = await invite(owner, team, { role: "member" });
  expect((await owner.send("DELETE", team, { confirm: "Acme Inc" })).status).toBe(422);
  expect((await owner.send("DELETE", team, { confirm: "Acme" })).status).toBe(204);
  for (const person of [owner, other]) {
    expect((await person.send("GET", team)).status).toBe(404);
    expect(await person.send("GET", "/api/organisations")).toMatchObject({ body: { items: [] } });
  }
  expect(
    (await addTeammate(keep).then((late) => late.send("POST", "/api/invitations/accept", { code }))).status,
  ).toBe(404);
  for (const table of ["member", "member_route", "invitation"])
    expect(await runSql(`SELECT FROM ${table} WHERE account_id = $1`, [idOf(team)])).toEqual([]);
});

test("a suspended organisation opens for nobody until it is resumed", async () => {
  const { owner, team } = await startTeam();
  const action = { accountId: idOf(team), operator: "command-line" };
  await keep.database.inAccount(idOf(team), (transaction) =>
    suspendAccount(transaction, action, keep.services),
  );
  expect((await owner.send("GET", team)).status).toBe(404);
  await keep.database.inAccount(idOf(team), (transaction) =>
    resumeAccount(transaction, action, keep.services),
  );
  expect((await owner.send("GET", team)).status).toBe(200);
});

test("whoever can write to the database becomes no member, keeps no role, and is found out", async () => {
  const { owner, other, team, memberOf } = await startTeam();
  const outsider = await addTeammate(keep);
  const id = idOf(team);
  const select = "SELECT role, mac FROM member WHERE account_id = $1 AND person_id = $2";
  const put = "UPDATE member SET role = $3, mac = $4 WHERE account_id = $1 AND person_id = $2";
  const findings = async (): Promise<readonly string[]> => {
    const lines: string[] = [];
    const wrapper = readKeys(new Hidden(keep.key));
    await keep.services.nodeLog.append();
    await verifyDatabase({}, { database: keep.database, wrapper, print: (line) => lines.push(line) });
    return lines;
  };
  // An inserted row with the MAC of another member.
  const [member] = await runSql(select, [id, other.accountId]);
  await runSql("INSERT INTO member (person_id, account_id, role, mac) VALUES ($2, $1, $3, $4)", [
    id,
    outsider.accountId,
    member.role,
    member.mac,
  ]);
  expect((await outsider.send("GET", team)).status).toBe(404);
  // A higher role.
  await runSql(put, [id, other.accountId, "owner", member.mac]);
  expect((await other.send("GET", team)).status).toBe(404);
  await runSql(put, [id, other.accountId, member.role, member.mac]);
  expect((await other.send("GET", team)).status).toBe(200);
  // The row from before a demotion.
  expect((await owner.send("PATCH", memberOf(other), { role: "owner" })).status).toBe(204);
  const [before] = await runSql(select, [id, other.accountId]);
  expect((await owner.send("PATCH", memberOf(other), { role: "member" })).status).toBe(204);
  const [after] = await runSql(select, [id, other.accountId]);
  await runSql(put, [id, other.accountId, before.role, before.mac]);
  expect((await other.send("GET", team)).status).toBe(404);
  const reported = await findings();
  expect(reported).toContainEqual(
    expect.stringContaining(`member ${outsider.accountId} of ${id} is not genuine`),
  );
  expect(reported).toContainEqual(
    expect.stringContaining(`member ${other.accountId} of ${id} is not genuine`),
  );
  await runSql(put, [id, other.accountId, after.role, after.mac]);
  await runSql("DELETE FROM member WHERE account_id = $1 AND person_id = $2", [id, outsider.accountId]);
  expect((await other.send("GET", team)).status).toBe(200);
  // A person's account is no organisation, whatever the database says.
  await runSql("UPDATE account SET kind = 'person' WHERE account_id = $1", [id]);
  expect((await owner.send("GET", team)).status).toBe(404);
  await runSql("UPDATE account SET kind = 'organisation' WHERE account_id = $1", [id]);
  expect((await owner.send("GET", team)).status).toBe(200);
});
