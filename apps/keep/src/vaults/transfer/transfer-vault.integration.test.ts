import { Readable } from "node:stream";
import { verifyAuditExport } from "@hearth-and-keep/audit-records";
import type { VaultDetail, VersionPage } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../../audit/bytes.ts";
import { exportStream } from "../../audit/export/export-stream.ts";
import { asSuperuser } from "../../keys/test/tamper-fixtures.ts";
import {
  addMemberToken,
  addTeam,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  read,
  readEvents,
  share,
  statusOf,
  statusWith,
  succeed,
  valueOf,
} from "../../organisations/test/shared-vault.ts";
import { createTeam, type Teammate } from "../../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { copiedColumns } from "./queries.ts";
import { addFilledVault, addVault, findFindings, readRows, transfer } from "./test/fixture.ts";

let keep: TestKeep;
/** On the same database. */
let other: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  other = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await keep[Symbol.asyncDispose]();
});

/** Versions of the secret at `/app/KEY` with their values. */
async function readVersions(person: Teammate, vault: string): Promise<readonly object[]> {
  const { id } = await succeed<{ id: string }>(person, "GET", `${vault}/secrets/by-path/app/KEY`);
  const secret = `${vault}/secrets/${id}`;
  const { items } = await succeed<VersionPage>(person, "GET", `${secret}/versions`);
  return Promise.all(
    items.map(async (version) => {
      const path = `${secret}/value?version=${version.version}`;
      const { body } = await person.send<{ readonly value?: string }>("GET", path);
      return { id, ...version, value: body.value };
    }),
  );
}

test("a vault that goes to an organisation keeps ids, versions, values and folders, and its owner manages it there", async () => {
  const { owner: person, accountId, organisation } = await createOrganisation(keep);
  const vault = await addFilledVault(person);
  const [versions, stored] = [await readVersions(person, vault), await readRows(keep, idOf(vault))];
  expect(versions).toMatchObject([{ value: "third" }, { value: "second" }, { value: undefined }]);
  expect(stored.accounts).toEqual([person.accountId]);
  expect(await findFindings(keep)).toEqual([]);
  const detail = await succeed<VaultDetail>(person, "GET", vault);
  expect(await transfer<VaultDetail>(person, vault, accountId)).toEqual({
    status: 200,
    body: { ...detail, revision: detail.revision + 1, updated_at: expect.any(String) },
  });
  expect(await readRows(keep, idOf(vault))).toEqual({ ...stored, accounts: [accountId] });
  expect(await readVersions(person, vault)).toEqual(versions);
  expect(await readVersions({ ...person, send: person.on(other) }, vault)).toEqual(versions);
  const idsOf = async (path: string) =>
    (await succeed<readonly { id: string }[]>(person, "GET", path)).map(({ id }) => id);
  expect(await idsOf(`${organisation}/vaults`)).toContain(idOf(vault));
  expect(await idsOf("/api/secrets/vaults")).not.toContain(idOf(vault));
  expect(await statusOf(person, "PUT", `${vault}/secrets/by-path/app/NEW`, { value: "new" })).toBe(201);
  expect(await statusOf(person, "DELETE", `${vault}/folders?path=/empty`)).toBe(200);
  expect(await statusOf(person, "POST", `${vault}/secrets/by-path/app/KEY`)).toBe(405);
  expect(await findFindings(keep)).toEqual([]);
});

test("an owner transfers a vault to another organisation of theirs, and from there to their own account", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const second = idOf(await createTeam(owner, "Second"));
  const vault = await addFilledVault(owner);
  const { rows } = await readRows(keep, idOf(vault));
  const versions = await readVersions(owner, vault);
  for (const to of [accountId, second, owner.accountId, accountId, owner.accountId]) {
    expect((await transfer(owner, vault, to)).status).toBe(200);
    expect(await readRows(keep, idOf(vault))).toEqual({ rows, accounts: [to] });
    expect(await readVersions(owner, vault)).toEqual(versions);
    expect(await findFindings(keep)).toEqual([]);
  }
  expect((await transfer(owner, vault, owner.accountId)).status).toBe(200);
});

test("every column of the rows that belong to a vault is copied", async () => {
  const stored = await asSuperuser(keep.databaseUrl, async (superuser) => {
    const { rows } = await superuser.query<{ table: string; column: string }>(
      `SELECT relname AS "table", attname AS "column" FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid WHERE relname = ANY ($1) AND attnum > 0 AND NOT attisdropped AND attname <> 'account_id'`,
      [Object.keys(copiedColumns)],
    );
    return rows.map(({ table, column }) => `${table}.${column}`);
  });
  const copied = Object.entries(copiedColumns).flatMap(([table, columns]) =>
    columns.split(", ").map((column) => `${table}.${column}`),
  );
  expect(copied.toSorted()).toEqual(stored.toSorted());
});

test("every table with rows of vaults is copied, or has its rows deleted, or says nothing of the vault", async () => {
  const tables = await asSuperuser(keep.databaseUrl, async (superuser) => {
    const { rows } = await superuser.query<{ table: string }>(
      `SELECT relname AS "table" FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid WHERE relkind IN ('r', 'p') AND attname IN ('vault_id', 'vault_ids')`,
    );
    return rows.map(({ table }) => table);
  });
  const ended = ["proposed_change", "vault_access", "vault_route", "api_token", "trust_rule"];
  const copied = Object.keys(copiedColumns).filter((table) => table !== "vault");
  expect(tables.toSorted()).toEqual([...copied, ...ended].toSorted());
});

test("whoever had access only through the first account has none, on any node", async () => {
  const team = await createOrganisation(keep);
  const { owner, organisation, accountId } = team;
  const [reader, inTeam, auditor] = [await team.add(), await team.add(), await team.add("auditor")];
  const vault = await createVault(owner, organisation, ["/app/KEY"]);
  await share(owner, vault, { holder: personHolder(reader), role: "manager" });
  const { type, id } = await addTeam(owner, organisation, [inTeam]);
  await share(owner, vault, { holder: { type, id }, role: "reader" });
  const people = [reader, inTeam];
  const nodes = [keep, other];
  for (const person of people) expect(await read(person, vault, "/app/KEY")).toBe(200);
  expect(await statusOf(auditor, "GET", vault)).toBe(200);
  const second = idOf(await createTeam(owner, "Second"));
  expect((await transfer(owner, vault, second)).status).toBe(200);
  for (const node of nodes) {
    for (const person of [...people, auditor]) {
      const send = person.on(node);
      expect((await send("GET", vault)).body).toMatchObject({ code: "not_found" });
      expect((await send("GET", valueOf(vault, "/app/KEY"))).body).toMatchObject({ code: "not_found" });
    }
    expect((await owner.on(node)("GET", valueOf(vault, "/app/KEY"))).status).toBe(200);
  }
  // Grants and tokens do not come back with it.
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  for (const person of people) expect(await read(person, vault, "/app/KEY")).toBe(404);
  expect(await read(owner, vault, "/app/KEY")).toBe(200);
  expect(await findFindings(keep)).toEqual([]);
});

test("tokens lose the vault on every node within a second, and those that are limited to it are revoked", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  const vault = await createVault(owner, organisation, ["/app/KEY"]);
  const kept = await createVault(owner, organisation, ["/app/KEY"]);
  const scopes = ["secrets:read", "tokens:write"] as const;
  const add = (...vaults: readonly string[]) =>
    addMemberToken(owner, organisation, { scopes, vault_ids: vaults.map(idOf) });
  const [only, both] = [await add(vault), await add(vault, kept)];
  const all = { value: (await keep.addToken({ accountId }, { scopes })).text };
  const statuses = async (node: TestKeep) =>
    Promise.all(
      [only, both, all].map(async ({ value }) => [
        await statusWith(node, value, "GET", valueOf(vault, "/app/KEY")),
        await statusWith(node, value, "GET", valueOf(kept, "/app/KEY")),
      ]),
    );
  for (const node of [keep, other])
    expect(await statuses(node)).toEqual([
      [200, 404],
      [200, 200],
      [200, 200],
    ]);
  expect((await transfer(owner, vault, owner.accountId)).status).toBe(200);
  const without = [
    [401, 401],
    [404, 200],
    [404, 200],
  ];
  await expect.poll(() => statuses(other), { timeout: 1000, interval: 50 }).toEqual(without);
  expect(await statuses(keep)).toEqual(without);
  const revoked = await succeed<object>(owner, "GET", `${organisation}/tokens/${only.id}`);
  expect(revoked).toMatchObject({ revoke_reason: "vault-transferred" });
  const limited = await succeed<object>(owner, "GET", `${organisation}/tokens/${both.id}`);
  expect(limited).toMatchObject({ vault_ids: [idOf(kept)], revoke_reason: null });
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  for (const node of [keep, other])
    expect(await statuses(node)).toEqual([
      [401, 401],
      [404, 200],
      [200, 200],
    ]);
  expect(await findFindings(keep)).toEqual([]);
});

test("trust rules lose the vault, and those that are limited to it are deleted", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const [vault, kept] = [await addVault(owner), await addVault(owner)];
  const rules = "/api/secrets/trust-rules";
  const addRule = async (name: string, vaults: readonly string[]) => {
    const conditions = [{ claim: "sub", values: [name] }];
    const rule = { name, provider: "generic", issuer: "https://issuer.example", conditions };
    const body = { ...rule, scopes: ["secrets:read"], vault_ids: vaults.map(idOf) };
    return (await succeed<{ id: string }>(owner, "POST", rules, body)).id;
  };
  const [only, both] = [await addRule("only", [vault]), await addRule("both", [vault, kept])];
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  expect(await statusOf(owner, "GET", `${rules}/${only}`)).toBe(404);
  expect(await succeed(owner, "GET", `${rules}/${both}`)).toMatchObject({ vault_ids: [idOf(kept)] });
  expect(await findFindings(keep)).toEqual([]);
});

test("both accounts record the transfer, and the vault has a log of its own in each", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  expect(await readEvents(owner, vault)).toContainEqual(expect.objectContaining({ type: "secret-written" }));
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  const fields = { vault: idOf(vault), name: "Project", from: owner.accountId, to: accountId };
  const entered = { type: "vault-transferred-in", ...fields, by: `person:${owner.accountId}` };
  const left = { type: "vault-transferred-out", ...fields, by: expect.stringMatching(/^session:/u) };
  const ofPerson = await readEvents(owner, "/api/secrets");
  expect(ofPerson[0]).toMatchObject(left);
  const ofOrganisation = await readEvents(owner, organisation);
  expect(ofOrganisation[0]).toMatchObject(entered);
  const ofVault = await readEvents(owner, vault);
  expect(ofVault).toMatchObject([entered, { type: "grant-added" }]);
  const { database, serverKeys } = keep.services;
  const exportOf = (account: string) =>
    exportStream({ accountId: account, stream: idOf(vault) }, { database, serverKeys });
  const collect = async (account: string) => (await Array.fromAsync(exportOf(account))).join("");
  // Nodes make leaves of records within a second or so.
  await expect.poll(() => collect(owner.accountId), { timeout: 10_000 }).toContain("transferred-out");
  await expect.poll(() => collect(accountId), { timeout: 10_000 }).toContain("grant-added");
  const [first, second] = [await collect(owner.accountId), await collect(accountId)];
  expect(first).toContain("secret-written");
  expect(second).not.toContain("secret-written");
  for (const text of [first, second]) {
    const lines = Readable.from(text.split("\n"));
    expect(await verifyAuditExport(lines, {}, sha256)).toMatchObject({ isValid: true });
  }
});
