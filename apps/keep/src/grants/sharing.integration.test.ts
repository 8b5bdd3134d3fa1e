import type { VaultAccess, VaultGrant } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
  type TestOrganisation,
} from "../organisations/test/shared-vault.ts";
import type { Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;
let acme: TestOrganisation;
/** Manages the vaults that it creates; not an owner of the organisation. */
let creator: Teammate;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  acme = await createOrganisation(keep);
  creator = await acme.add();
});
afterAll(() => keep[Symbol.asyncDispose]());

const refused = { status: 403, body: { code: "out_of_reach" } };

describe("sharing", () => {
  const teamPaths = ["/team/**"];
  let vault: string;
  let manager: Teammate;
  let person: Teammate;
  beforeAll(async () => {
    vault = await createVault(creator, acme.organisation, ["/team/KEY", "/other/KEY"]);
    [manager, person] = [await acme.add(), await acme.add()];
    await share(creator, vault, { holder: personHolder(manager), role: "manager", paths: teamPaths });
  });
  const grantAs = (by: Teammate, grant: object) =>
    by.send("POST", `${vault}/grants`, { holder: personHolder(person), ...grant });

  test("a manager of some paths shares them or less of them, and nothing else", async () => {
    expect(await grantAs(manager, { role: "reader" })).toMatchObject(refused);
    expect(await grantAs(manager, { role: "reader", paths: ["/**"] })).toMatchObject(refused);
    expect(await grantAs(manager, { role: "reader", paths: ["/team/**", "/other/*"] })).toMatchObject(
      refused,
    );
    expect(await grantAs(manager, { role: "reader", paths: ["/*/KEY"] })).toMatchObject(refused);
    expect((await grantAs(manager, { role: "manager", paths: ["/team/inner/*"] })).status).toBe(201);
    expect((await grantAs(manager, { role: "reader", paths: teamPaths })).status).toBe(201);
    expect([await read(person, vault, "/team/KEY"), await read(person, vault, "/other/KEY")]).toEqual([
      200, 403,
    ]);
  });

  test("a manager of some paths removes grants there, and no wider one", async () => {
    const wide = await share(creator, vault, { holder: personHolder(person), role: "reader" });
    const narrow = await share(manager, vault, {
      holder: personHolder(person),
      role: "editor",
      paths: teamPaths,
    });
    expect(await manager.send("DELETE", wide)).toMatchObject(refused);
    expect(await read(person, vault, "/other/KEY")).toBe(200);
    expect(await statusOf(manager, "DELETE", narrow)).toBe(204);
    expect(await statusOf(manager, "DELETE", narrow)).toBe(404);
    expect(await statusOf(creator, "DELETE", wide)).toBe(204);
  });

  test("a token shares no more than it may do itself, also one of an owner", async () => {
    const scopes = ["grants:write", "secrets:read"] as const;
    const { value } = await addMemberToken(creator, acme.organisation, { scopes, vault_ids: [idOf(vault)] });
    const shareWith = (token: string, role: string) =>
      statusWith(keep, token, "POST", `${vault}/grants`, {
        holder: personHolder(person),
        role,
        paths: ["/t/*"],
      });
    expect([await shareWith(value, "editor"), await shareWith(value, "reader")]).toEqual([403, 201]);
    const owned = await addMemberToken(acme.owner, acme.organisation, { scopes });
    expect(await shareWith(owned.value, "editor")).toBe(403);
    expect((await grantAs(acme.owner, { role: "editor", paths: ["/t/*"] })).status).toBe(201);
  });

  test("an owner can grant themself, and the vault's log shows it to those who manage the vault", async () => {
    expect(await read(acme.owner, vault, "/other/KEY")).toBe(403);
    const path = await share(acme.owner, vault, { holder: personHolder(acme.owner), role: "reader" });
    expect(await read(acme.owner, vault, "/other/KEY")).toBe(200);
    const by = `person:${acme.owner.accountId}`;
    const [latest, before] = await readEvents(creator, vault);
    expect(latest).toMatchObject({ type: "value-read", by });
    expect(before).toMatchObject({ type: "grant-added", by, holder: by, role: "reader", grant: idOf(path) });
    expect(await statusOf(acme.owner, "DELETE", path)).toBe(204);
    expect((await readEvents(creator, vault))[0]).toMatchObject({
      type: "grant-removed",
      by,
      grant: idOf(path),
    });
    expect(await read(acme.owner, vault, "/other/KEY")).toBe(403);
  });

  test("grants are listed with their holders, also only those at a path", async () => {
    const team = await addTeam(acme.owner, acme.organisation);
    const holder = { type: team.type, id: team.id };
    const path = await share(creator, vault, { holder, role: "reader", paths: ["/listed/*"] });
    const list = async (query: string) =>
      (await creator.send<{ items: VaultGrant[] }>("GET", `${vault}/grants${query}`)).body.items;
    const created = { created_by: `person:${creator.accountId}`, created_at: expect.any(String) };
    const expected = {
      id: idOf(path),
      holder,
      holder_name: "Operations",
      role: "reader",
      paths: ["/listed/*"],
    };
    expect((await list("")).at(-1)).toEqual({ ...expected, ...created });
    const at = async (secret: string) => (await list(`?path=${secret}`)).map(({ id }) => id);
    expect(await at("/listed/KEY")).toContain(idOf(path));
    expect(await at("/listed/deeper/KEY")).not.toContain(idOf(path));
    expect(await at("/team/KEY")).not.toContain(idOf(path));
  });

  test("a grant is for a member or team of the organisation, once, at valid paths", async () => {
    const stranger = await createOrganisation(keep);
    const foreignTeam = await addTeam(stranger.owner, stranger.organisation);
    for (const holder of [
      personHolder(stranger.owner),
      { type: "team", id: foreignTeam.id },
      { type: "person", id: foreignTeam.id },
      { type: "team", id: person.accountId },
      { type: "person", id: acme.accountId },
    ])
      expect((await grantAs(creator, { role: "reader", holder })).status).toBe(422);
    for (const paths of [[], ["team"], ["/a/**/b"], ["/e\u0301/*"], [`/${"x".repeat(1024)}`]])
      expect((await grantAs(creator, { role: "reader", paths })).status).toBe(422);
    expect((await grantAs(creator, { role: "owner" })).status).toBe(422);
    const once = { role: "reader", paths: ["/once/*"] };
    expect((await grantAs(creator, once)).status).toBe(201);
    expect((await grantAs(creator, once)).status).toBe(409);
  });

  test("a personal vault cannot be shared, and has no grants", async () => {
    const personal = `/api/secrets/vaults/${creator.vaultId}`;
    const body = { holder: personHolder(person), role: "reader" };
    expect(await creator.send("POST", `${personal}/grants`, body)).toMatchObject({ status: 409 });
    expect((await creator.send("POST", `${vault}/grants`, body)).status).toBe(201);
    expect(await creator.send("GET", `${personal}/grants`)).toMatchObject({ body: { items: [] } });
    expect(await read(person, personal, "/KEY")).toBe(404);
    const access = await creator.send<VaultAccess>("GET", `${personal}/access`);
    expect(access.body.organisation_id).toBeNull();
  });

  test("the manager who created a vault can lose it to nobody but an owner", async () => {
    const own = await createVault(creator, acme.organisation, ["/KEY"]);
    const first = await creator.send<{ items: VaultGrant[] }>("GET", `${own}/grants`);
    const [grant] = first.body.items;
    expect(grant).toMatchObject({ holder: personHolder(creator), role: "manager", paths: null });
    await share(creator, own, { holder: personHolder(manager), role: "manager", paths: teamPaths });
    expect(await statusOf(manager, "DELETE", `${own}/grants/${grant?.id}`)).toBe(403);
    expect(await statusOf(acme.owner, "DELETE", `${own}/grants/${grant?.id}`)).toBe(204);
    expect(await read(creator, own, "/KEY")).toBe(404);
  });
});
