import type { Exposure } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import {
  addMemberToken,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  share,
  statusOf,
  statusWith,
  succeed,
  type TestOrganisation,
  valueOf,
  write,
} from "./test/shared-vault.ts";
import type { Teammate } from "./test/start-team.ts";

let keep: TestKeep;
let acme: TestOrganisation;
let creator: Teammate;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  acme = await createOrganisation(keep);
  creator = await acme.add();
});
afterAll(() => keep[Symbol.asyncDispose]());

const exposureOf = ({ accountId }: Pick<Teammate, "accountId">, by = acme.owner, of = acme.organisation) =>
  succeed<Exposure>(by, "GET", `${of}/members/${accountId}/exposure`);

/** Paths, each with the version that was read and whether it is current. */
async function listExposed(person: Teammate): Promise<readonly string[]> {
  const { items, is_complete: isComplete } = await exposureOf(person);
  expect(isComplete).toBe(true);
  return items.map(
    ({ path, version, is_current: isCurrent }) => `${path}@${version}${isCurrent ? "" : " replaced"}`,
  );
}

/** A vault with these secrets, and a new member who may read them all. */
async function startReader(paths: readonly string[]) {
  const vault = await createVault(creator, acme.organisation, paths);
  const person = await acme.add();
  await share(creator, vault, { holder: personHolder(person), role: "editor" });
  return { vault, person };
}

test("a secret that was read by a session, by a token, or among many is listed; others are not", async () => {
  const paths = ["/a", "/b", "/bulk/c", "/bulk/d", "/exported/e", "/f", "/listed", "/unread"];
  const { vault, person } = await startReader(paths);
  const other = await acme.add();
  await share(creator, vault, { holder: personHolder(other), role: "reader" });
  expect(await listExposed(person)).toEqual([]);
  const get = (path: string) => succeed(person, "GET", vault + path);
  await get("/values/by-path/a");
  const { value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
  expect(await statusWith(keep, value, "GET", valueOf(vault, "/b"))).toBe(200);
  await get("/values?path=/bulk");
  await get("/export?format=json&path=/exported");
  const { id } = await succeed<{ id: string }>(person, "GET", `${vault}/secrets/by-path/f`);
  await get(`/secrets/${id}/value`);
  // Neither names nor values that another person reads are known.
  await get("/secrets?path=/");
  await succeed(other, "GET", valueOf(vault, "/unread"));
  expect((await listExposed(person)).toSorted()).toEqual([
    "/a@1",
    "/b@1",
    "/bulk/c@1",
    "/bulk/d@1",
    "/exported/e@1",
    "/f@1",
  ]);
  expect(await listExposed(other)).toEqual(["/unread@1"]);
  const { items } = await exposureOf(other);
  expect(items).toEqual([
    {
      vault_id: idOf(vault),
      vault_name: "Project",
      secret_id: expect.any(String),
      path: "/unread",
      version: 1,
      read_at: expect.any(String),
      is_current: true,
    },
  ]);
  expect(Math.abs(Date.now() - Date.parse(items[0]?.read_at ?? ""))).toBeLessThan(60_000);
});

test("a value that was read through a reference is listed in its own vault", async () => {
  const { vault, person } = await startReader([]);
  const other = await createVault(creator, acme.organisation, ["/KEY", "/OTHER"]);
  await share(creator, other, { holder: personHolder(person), role: "reader" });
  await write(creator, vault, ["/A", `\${${idOf(other)}:/KEY}`]);
  await succeed(person, "GET", `${valueOf(vault, "/A")}?expand=references`);
  const found = (await exposureOf(person)).items.map(({ vault_id: id, path }) => `${id}${path}`);
  expect(found.toSorted()).toEqual([`${idOf(vault)}/A`, `${idOf(other)}/KEY`].toSorted());
});

test("a secret is no longer current after it was changed, and is again after the new value was read", async () => {
  const { vault, person } = await startReader(["/KEY", "/OTHER"]);
  for (const path of ["/KEY", "/OTHER"]) await succeed(person, "GET", valueOf(vault, path));
  await write(creator, vault, ["/KEY", "new"]);
  // Current ones first.
  expect(await listExposed(person)).toEqual(["/OTHER@1", "/KEY@1 replaced"]);
  await succeed(person, "GET", valueOf(vault, "/KEY"));
  expect(await listExposed(person)).toEqual(["/KEY@2", "/OTHER@1"]);
});

test("whoever read the current value still knows it after reading an older version", async () => {
  const { vault, person } = await startReader(["/KEY"]);
  const secret = await write(creator, vault, ["/KEY", "new"]);
  await succeed(person, "GET", valueOf(vault, "/KEY"));
  await succeed(person, "GET", `${vault}/secrets/${secret}/value?version=1`);
  expect(await listExposed(person)).toEqual(["/KEY@2"]);
});

test("a value that comes back with a restored version is known to whoever read it before, and to nobody else", async () => {
  const { vault, person } = await startReader(["/KEY"]);
  const later = await acme.add();
  await share(creator, vault, { holder: personHolder(later), role: "reader" });
  await succeed(person, "GET", valueOf(vault, "/KEY"));
  const secret = await write(creator, vault, ["/KEY", "new"]);
  await succeed(later, "GET", valueOf(vault, "/KEY"));
  const restore = (version: number) =>
    succeed(creator, "POST", `${vault}/secrets/${secret}/versions/${version}/restore`);
  const known = async () => [await listExposed(person), await listExposed(later)];
  expect(await known()).toEqual([["/KEY@1 replaced"], ["/KEY@2"]]);
  await restore(1);
  expect(await known()).toEqual([["/KEY@1"], ["/KEY@2 replaced"]]);
  // The third version has the value of the first one.
  await restore(3);
  expect(await known()).toEqual([["/KEY@1"], ["/KEY@2 replaced"]]);
});

test("a value that a person wrote is known to them until somebody else replaces it", async () => {
  const { vault, person } = await startReader(["/KEY"]);
  await write(person, vault, ["/KEY", "theirs"]);
  await write(person, vault, ["/NEW", "theirs"]);
  expect((await listExposed(person)).toSorted()).toEqual(["/KEY@2", "/NEW@1"]);
  await write(creator, vault, ["/KEY", "another"]);
  expect(await listExposed(person)).toEqual(["/NEW@1", "/KEY@2 replaced"]);
});

test("what a person read with a token is listed after the token was forgotten", async () => {
  const { vault, person } = await startReader(["/KEY"]);
  const { id, value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
  expect(await statusWith(keep, value, "GET", valueOf(vault, "/KEY"))).toBe(200);
  // As 90 days after it ended.
  await keep.database.inAccount(acme.accountId, (transaction) =>
    transaction.query({
      text: "DELETE FROM api_token WHERE account_id = $1 AND id = $2",
      values: [acme.accountId, id],
    }),
  );
  expect(await listExposed(person)).toEqual(["/KEY@1"]);
});

test("the list says that it is not complete once records of the organisation are archived", async () => {
  const { person } = await startReader([]);
  const archiveMonth = (month: string) =>
    asSuperuser(keep.databaseUrl, (superuser) =>
      superuser.query(
        `INSERT INTO audit_archive (month, records, sha256) VALUES (to_char(now() AT TIME ZONE 'UTC' - interval '${month}', 'YYYY-MM'), 1, '')`,
      ),
    );
  await archiveMonth("2 months");
  expect((await exposureOf(person)).is_complete).toBe(true);
  await archiveMonth("0 months");
  expect((await exposureOf(person)).is_complete).toBe(false);
  await asSuperuser(keep.databaseUrl, (superuser) => superuser.query("DELETE FROM audit_archive"));
});

test("a renamed or moved secret is listed at its path of now, and a deleted one is left out", async () => {
  const { vault, person } = await startReader(["/KEY", "/GONE"]);
  for (const path of ["/KEY", "/GONE"]) await succeed(person, "GET", valueOf(vault, path));
  await succeed(creator, "PATCH", `${vault}/secrets/by-path/KEY`, { folder: "/moved", name: "NAME" });
  await succeed(creator, "DELETE", `${vault}/secrets/by-path/GONE`);
  expect(await listExposed(person)).toEqual(["/moved/NAME@1"]);
});

test("what a person read is still listed after their grant, their token or their membership has ended", async () => {
  const { vault, person } = await startReader(["/a", "/b"]);
  await succeed(person, "GET", valueOf(vault, "/a"));
  const { value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
  expect(await statusWith(keep, value, "GET", valueOf(vault, "/b"))).toBe(200);
  expect(await statusOf(acme.owner, "DELETE", `${acme.organisation}/members/${person.accountId}`)).toBe(204);
  expect((await listExposed(person)).toSorted()).toEqual(["/a@1", "/b@1"]);
});

test("only owners of the organisation see it, and nothing of another organisation", async () => {
  const { vault, person } = await startReader(["/KEY"]);
  await succeed(person, "GET", valueOf(vault, "/KEY"));
  const auditor = await acme.add("auditor");
  const path = `${acme.organisation}/members/${person.accountId}/exposure`;
  for (const by of [person, creator, auditor]) expect(await statusOf(by, "GET", path)).toBe(403);
  const globex = await createOrganisation(keep);
  expect(await statusOf(globex.owner, "GET", path)).toBe(404);
  const elsewhere = `${globex.organisation}/members/${person.accountId}/exposure`;
  expect(await statusOf(globex.owner, "GET", elsewhere)).toBe(404);
  expect(await listExposed(person)).toEqual(["/KEY@1"]);
});
