import type { Change } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signAllRows } from "../../keys/row-integrity/account-epoch.ts";
import { asSuperuser } from "../../keys/test/tamper-fixtures.ts";
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
  write,
} from "../../organisations/test/shared-vault.ts";
import { addTeammate, createTeam, join, type Teammate } from "../../organisations/test/start-team.ts";
import { everyScope, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { addFilledVault, addVault, findFindings, readRows, transfer } from "./test/fixture.ts";

let keep: TestKeep;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

type Refusal = { readonly status: number; readonly code: string };

/** The transfer fails, and nothing of the vault changes. */
async function expectRefusal(person: Teammate, [vault, to]: readonly [string, string], refusal: Refusal) {
  const before = await readRows(keep, idOf(vault));
  const { status, body } = await transfer(person, vault, to);
  expect({ status, code: body.code, detail: body.detail }).toMatchObject(refusal);
  expect(await readRows(keep, idOf(vault))).toEqual(before);
}

const conflict = { status: 409, code: "conflict" };
const notFound = { status: 404, code: "not_found" };
const invalid = { status: 422, code: "validation_failed" };
const roleRequired = { status: 403, code: "role_required" };

test("the personal vault stays in its account, and another one of the person can be transferred", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  await expectRefusal(owner, [`/api/secrets/vaults/${owner.vaultId}`, accountId], conflict);
  expect((await transfer(owner, await addVault(owner), accountId)).status).toBe(200);
});

test("only into an organisation of which the person is an owner", async () => {
  const team = await createOrganisation(keep);
  const { owner, organisation, accountId } = team;
  const [member, auditor, stranger] = [await team.add(), await team.add("auditor"), await addTeammate(keep)];
  for (const person of [member, auditor, stranger]) {
    const vault = await addVault(person);
    await expectRefusal(person, [vault, accountId], invalid);
    await expectRefusal(person, [vault, owner.accountId], invalid);
    await expectRefusal(person, [vault, crypto.randomUUID()], invalid);
  }
  const vault = await addVault(member);
  await succeed(owner, "PATCH", `${organisation}/members/${member.accountId}`, { role: "owner" });
  expect((await transfer(member, vault, accountId)).status).toBe(200);
});

test("only an owner transfers a vault of an organisation, and only to what they own themselves", async () => {
  const team = await createOrganisation(keep);
  const { owner, organisation, accountId } = team;
  const [manager, auditor, hidden] = [await team.add(), await team.add("auditor"), await team.add()];
  const vault = await createVault(manager, organisation, ["/app/KEY"]);
  await expectRefusal(manager, [vault, manager.accountId], roleRequired);
  await expectRefusal(auditor, [vault, auditor.accountId], roleRequired);
  await expectRefusal(hidden, [vault, hidden.accountId], notFound);
  await expectRefusal(await addTeammate(keep), [vault, owner.accountId], notFound);
  const foreign = await createOrganisation(keep);
  for (const to of [foreign.accountId, foreign.owner.accountId, manager.accountId])
    await expectRefusal(owner, [vault, to], invalid);
  await join(foreign.owner, foreign.organisation, [owner, "owner"]);
  expect((await transfer(owner, vault, foreign.accountId)).status).toBe(200);
  await expectRefusal(manager, [vault, accountId], notFound);
});

test("not with a token, and only after a recent sign-in", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  const vault = await addVault(owner);
  const { text } = await keep.addToken(owner, { scopes: everyScope });
  expect(await statusWith(keep, text, "POST", `${vault}/transfer`, { to: accountId })).toBe(403);
  const shared = await createVault(owner, organisation);
  const { value } = await addMemberToken(owner, organisation, { scopes: everyScope });
  expect(await statusWith(keep, value, "POST", `${shared}/transfer`, { to: owner.accountId })).toBe(403);
  const early = await addTeammate(keep, undefined, "1 hour");
  const refusal = { status: 403, code: "fresh_sign_in_required" };
  await expectRefusal(early, [await addVault(early), idOf(await createTeam(early))], refusal);
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  expect((await transfer(owner, shared, owner.accountId)).status).toBe(200);
});

test("not while a second person would have to approve, and again afterwards", async () => {
  const team = await createOrganisation(keep);
  const { owner, organisation } = team;
  const vault = await createVault(owner, organisation, ["/app/KEY"]);
  const second = await team.add();
  await share(owner, vault, { holder: personHolder(second), role: "manager" });
  await succeed(owner, "PATCH", vault, { protected_paths: ["/app/**"] });
  await expectRefusal(owner, [vault, owner.accountId], conflict);
  const propose = async (content: object) =>
    succeed<Change>(owner, "POST", `${vault}/changes`, { reason: "Test", ...content });
  const { id, fingerprint } = await propose({ protected_paths: [] });
  await succeed(second, "POST", `${vault}/changes/${id}/approve`, { fingerprint });
  const operations = [{ op: "put", path: "/app/KEY", value: "proposed" }];
  const pending = await propose({ operations });
  await expectRefusal(owner, [vault, owner.accountId], conflict);
  await succeed(owner, "DELETE", `${vault}/changes/${pending.id}`);
  expect((await transfer(owner, vault, owner.accountId)).status).toBe(200);
  expect(await findFindings(keep)).toEqual([]);
});

test("not while a data key is rotated; afterwards, also with two data keys", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  const { operation } = await succeed<{ operation: { id: string } }>(owner, "POST", `${vault}/rotate-key`);
  expect(await transfer(owner, vault, accountId)).toMatchObject({ status: 409, body: { code: "conflict" } });
  const path = `${vault}/operations/${operation.id}`;
  const readState = async () => (await succeed<{ state: string }>(owner, "GET", path)).state;
  await expect.poll(readState, { timeout: 60_000 }).toBe("done");
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  expect(await readState()).toBe("done");
  expect(await findFindings(keep)).toEqual([]);
});

test("not beyond what the account may have: vaults, secrets and bytes", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  const vault = await addVault(owner);
  await write(owner, vault, ["/KEY", "value"]);
  const filler = idOf(await createVault(owner, organisation));
  const fill = (column: string, value: number) =>
    asSuperuser(keep.databaseUrl, (superuser) =>
      superuser.query(`UPDATE vault SET ${column} = $2 WHERE id = $1`, [filler, value]),
    );
  const refusal = { status: 409, code: "quota_exceeded" };
  for (const [column, max] of [
    ["live_secrets", 10_000],
    ["all_secrets", 20_000],
    ["stored_bytes", 1024 ** 3],
  ] as const) {
    await fill(column, max);
    await expectRefusal(owner, [vault, accountId], refusal);
    await fill(column, 0);
  }
  const added: string[] = [];
  for (let count = 1; count < 100; count += 1) added.push(await createVault(owner, organisation));
  await expectRefusal(owner, [vault, accountId], refusal);
  await succeed(owner, "DELETE", added[0] ?? "");
  // The secret counts among those of the account that it is in.
  await fill("live_secrets", 9_999);
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  const put = (path: string) => owner.send("PUT", `${vault}/secrets/by-path${path}`, { value: "v" });
  expect((await put("/OTHER")).body).toMatchObject({ code: "quota_exceeded" });
  expect((await put("/KEY")).status).toBe(200);
});

test("a vault of the same name is no obstacle, as it is none for a new vault", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  await createVault(owner, organisation);
  expect((await transfer(owner, await addVault(owner, "Project"), accountId)).status).toBe(200);
});

test("not a deleted vault, and not when it has changed since", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addVault(owner);
  await succeed(owner, "PATCH", vault, { demands_preconditions: true });
  await expectRefusal(owner, [vault, accountId], { status: 428, code: "precondition_required" });
  const send = (tag: string) =>
    keep.request(`${vault}/transfer`, {
      method: "POST",
      headers: { ...owner.headers, "if-match": tag },
      body: { to: accountId },
    });
  expect((await send('"1"')).status).toBe(412);
  expect((await send('"2"')).status).toBe(200);
  const deleted = await addVault(owner);
  await succeed(owner, "DELETE", deleted);
  await expectRefusal(owner, [deleted, accountId], notFound);
  await succeed(owner, "POST", `${deleted}/restore`);
  expect((await transfer(owner, deleted, accountId)).status).toBe(200);
});

test("not to or from a suspended account", async () => {
  const { owner, organisation, accountId } = await createOrganisation(keep);
  const [vault, shared] = [await addVault(owner), await createVault(owner, organisation)];
  const setStatus = (status: string) =>
    keep.database.inAccount(accountId, async (transaction) => {
      await transaction.query({
        text: "UPDATE account SET status = $2 WHERE account_id = $1",
        values: [accountId, status],
      });
      await signAllRows(transaction, accountId, keep.services.serverKeys.rowMacs);
    });
  await setStatus("disabled");
  await expectRefusal(owner, [vault, accountId], invalid);
  await expectRefusal(owner, [shared, owner.accountId], notFound);
  await setStatus("active");
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
  expect((await transfer(owner, shared, owner.accountId)).status).toBe(200);
});

test("not rows that were modified outside Keep, which a transfer would sign again", async () => {
  const { owner, accountId } = await createOrganisation(keep);
  const vault = await addFilledVault(owner);
  const broken = { status: 500, code: "integrity_error" };
  const run = (text: string) =>
    asSuperuser(keep.databaseUrl, (superuser) => superuser.query(text, [idOf(vault)]));
  const tampers = [
    [
      "UPDATE secret SET revision = revision + 1 WHERE vault_id = $1",
      "UPDATE secret SET revision = revision - 1 WHERE vault_id = $1",
    ],
    [
      "UPDATE vault SET most_versions = 99 WHERE id = $1",
      "UPDATE vault SET most_versions = 100 WHERE id = $1",
    ],
    [
      "UPDATE vault_key SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1) WHERE vault_id = $1",
      "UPDATE vault_key SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1) WHERE vault_id = $1",
    ],
  ] as const;
  for (const [tamper, undo] of tampers) {
    await run(tamper);
    await expectRefusal(owner, [vault, accountId], broken);
    await run(undo);
  }
  expect(await statusOf(owner, "GET", `${vault}/values/by-path/app/KEY`)).toBe(200);
  expect((await transfer(owner, vault, accountId)).status).toBe(200);
});
