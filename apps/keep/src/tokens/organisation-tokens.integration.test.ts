import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import type { ApiToken } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../authorization/scopes.ts";
import { signAllRows } from "../keys/row-integrity/account-epoch.ts";
import {
  addMemberToken,
  createOrganisation,
  createVault,
  type IssuedToken,
  idOf,
  type NewToken,
  personHolder,
  readEvents,
  share,
  statusOf,
  statusWith,
  succeed,
  type TestOrganisation,
  valueOf,
} from "../organisations/test/shared-vault.ts";
import { addTeammate, join, type Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

/** Until what a token may do, which is kept in memory, has changed on every node. */
const maxMilliseconds = hasLooseTimingBounds ? 10_000 : 1000;

let keep: TestKeep;
let other: TestKeep;
let acme: TestOrganisation;
/** Manages the vaults that it creates; not an owner of the organisation. */
let creator: Teammate;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  other = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  acme = await createOrganisation(keep);
  creator = await acme.add();
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await keep[Symbol.asyncDispose]();
});

const refused = { status: 403, body: { code: "out_of_reach" } };
const tokens = () => `${acme.organisation}/tokens`;

const create = (by: Teammate, token: NewToken & { readonly expires_at?: string | null }) =>
  by.send<IssuedToken>("POST", tokens(), { for: "me", name: "test", ...token });

/** On each node. */
const use = (value: string, path: string) =>
  Promise.all([keep, other].map((node) => statusWith(node, value, "GET", path)));

async function becomes(value: string, path: string, status: number): Promise<void> {
  const limits = { timeout: maxMilliseconds, interval: 10 };
  await expect.poll(() => use(value, path), limits).toEqual([status, status]);
}

async function listTokens(by: Teammate, query = ""): Promise<readonly ApiToken[]> {
  return (await succeed<{ items: ApiToken[] }>(by, "GET", tokens() + query)).items;
}

async function addMember(vault: string, role: "reader" | "editor" | "manager", paths?: readonly string[]) {
  const person = await acme.add();
  const grant = { holder: personHolder(person), role, ...(paths === undefined ? {} : { paths }) };
  return { person, grant: await share(creator, vault, grant) };
}

describe("a token of a member", () => {
  test("may do what its owner may do then: it loses what they lose within a second, and gains what they gain", async () => {
    const vault = await createVault(creator, acme.organisation, ["/a/KEY", "/b/KEY"]);
    const { person, grant } = await addMember(vault, "editor");
    const { value } = await addMemberToken(person, acme.organisation, {
      scopes: ["secrets:read", "secrets:write"],
      vault_ids: [idOf(vault)],
    });
    const write = () => statusWith(other, value, "PUT", `${vault}/secrets/by-path/a/NEW`, { value: "x" });
    expect([await use(value, valueOf(vault, "/a/KEY")), await write()]).toEqual([[200, 200], 201]);
    await share(creator, vault, { holder: personHolder(person), role: "reader", paths: ["/a/*"] });
    expect(await statusOf(creator, "DELETE", grant)).toBe(204);
    await becomes(value, valueOf(vault, "/b/KEY"), 403);
    expect([await use(value, valueOf(vault, "/a/KEY")), await write()]).toEqual([[200, 200], 403]);
    await share(creator, vault, { holder: personHolder(person), role: "editor", paths: ["/b/*", "/a/*"] });
    await becomes(value, valueOf(vault, "/b/KEY"), 200);
    expect(await write()).toBe(200);
  });

  test("of somebody without a grant reads nothing, and a vault that is not theirs is not found", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const own = await createVault(creator, acme.organisation, ["/KEY"]);
    const person = await acme.add();
    const { value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    expect((await use(value, valueOf(vault, "/KEY"))).every((status) => status >= 400)).toBe(true);
    await share(creator, own, { holder: personHolder(person), role: "reader" });
    await becomes(value, valueOf(own, "/KEY"), 200);
    expect(await use(value, valueOf(vault, "/KEY"))).toEqual([404, 404]);
    const listed = await keep.request("/api/secrets/vaults", { token: value });
    // The response schema.
    const vaults = (await listed.json()) as readonly { readonly id: string }[];
    expect(vaults.map(({ id }) => id)).toEqual([idOf(own)]);
  });

  test("is limited by its own paths and scopes, and by those of the grant, at once", async () => {
    const vault = await createVault(creator, acme.organisation, ["/a/x/KEY", "/a/y/KEY", "/b/x/KEY"]);
    const { person } = await addMember(vault, "manager", ["/a/**"]);
    const { value } = await addMemberToken(person, acme.organisation, {
      scopes: ["secrets:read"],
      paths: ["/*/x/*"],
    });
    const statuses = await Promise.all(
      ["/a/x/KEY", "/a/y/KEY", "/b/x/KEY"].map((path) => use(value, valueOf(vault, path))),
    );
    expect(statuses).toEqual([
      [200, 200],
      [403, 403],
      [403, 403],
    ]);
    const put = `${vault}/secrets/by-path/a/x/NEW`;
    expect(await statusWith(keep, value, "PUT", put, { value: "x" })).toBe(403);
    expect(await statusOf(person, "PUT", put, { value: "x" })).toBe(201);
  });

  test("of an owner who becomes a member manages nothing any more, and creates no token", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const person = await acme.add("owner");
    const scopes = ["vaults:write", "tokens:write", "audit:read"] as const;
    const { value } = await addMemberToken(person, acme.organisation, { scopes });
    expect(await use(value, `${vault}/audit`)).toEqual([200, 200]);
    const child = { name: "child", scopes: ["audit:read"] };
    expect(await statusWith(keep, value, "POST", "/api/secrets/tokens", child)).toBe(201);
    const tooMuch = { name: "child", scopes: ["secrets:read"] };
    expect(await statusWith(keep, value, "POST", "/api/secrets/tokens", tooMuch)).toBe(403);
    const member = `${acme.organisation}/members/${person.accountId}`;
    expect(await statusOf(acme.owner, "PATCH", member, { role: "member" })).toBe(204);
    await becomes(value, `${vault}/audit`, 403);
    expect(await statusWith(keep, value, "POST", "/api/secrets/tokens", child)).toBe(403);
    expect(await statusOf(acme.owner, "PATCH", member, { role: "owner" })).toBe(204);
    await becomes(value, `${vault}/audit`, 200);
  });

  test("ends with the membership and does not return with the person, who can create another one", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const { person } = await addMember(vault, "reader");
    const token = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    const path = valueOf(vault, "/KEY");
    expect(await use(token.value, path)).toEqual([200, 200]);
    expect(await statusOf(acme.owner, "DELETE", `${acme.organisation}/members/${person.accountId}`)).toBe(
      204,
    );
    await becomes(token.value, path, 401);
    const revoked = (await listTokens(acme.owner, "?state=revoked")).find(({ id }) => id === token.id);
    expect(revoked).toMatchObject({ owner_id: person.accountId, revoke_reason: "member-removed" });
    await join(acme.owner, acme.organisation, [person, "member"]);
    await share(creator, vault, { holder: personHolder(person), role: "reader" });
    const another = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    await becomes(another.value, path, 200);
    expect(await use(token.value, path)).toEqual([401, 401]);
  });

  test("is recorded as its own in the vault's log, and with its owner where it was created", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const { person } = await addMember(vault, "reader");
    const { id, value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    await use(value, valueOf(vault, "/KEY"));
    expect((await readEvents(creator, vault))[0]).toMatchObject({ type: "value-read", by: `token:${id}` });
    const created = {
      type: "token-created",
      token: id,
      owner: person.accountId,
      by: `person:${person.accountId}`,
    };
    expect(await readEvents(acme.owner, acme.organisation)).toContainEqual(expect.objectContaining(created));
  });

  test("is one of at most 100 of its owner, who takes no room from others", async () => {
    const [person, colleague] = [await acme.add(), await acme.add()];
    await keep.database.inAccount(acme.accountId, async (transaction) => {
      await transaction.query({
        text: "INSERT INTO api_token (account_id, id, name, token_hash, scopes, owner_id, created_by) SELECT $1, gen_random_uuid(), 'many', sha256(convert_to($2 || number, 'UTF8')), '{secrets:read}', $2::uuid, 'test' FROM generate_series(1, 99) AS number",
        values: [acme.accountId, person.accountId],
      });
      await signAllRows(transaction, acme.accountId, keep.services.serverKeys.rowMacs);
    });
    const scopes: readonly Scope[] = ["secrets:read"];
    const last = await create(person, { scopes });
    expect(last.status).toBe(201);
    expect(await create(person, { scopes })).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
    expect((await create(colleague, { scopes })).status).toBe(201);
    expect(await statusOf(person, "DELETE", `${tokens()}/${last.body.id}`)).toBe(204);
    expect((await create(person, { scopes })).status).toBe(201);
  });
});

describe("a token of the organisation", () => {
  test("has only what its creator has and may share", async () => {
    const vault = await createVault(creator, acme.organisation, ["/a/KEY", "/b/KEY"]);
    const foreign = await createVault(acme.owner, acme.organisation);
    const scopes: readonly Scope[] = ["secrets:read"];
    const shared = { for: "organisation", scopes, vault_ids: [idOf(vault)], paths: ["/a/*"] } as const;
    const { person: reader } = await addMember(vault, "reader");
    const { person: editor } = await addMember(vault, "editor");
    const { person: manager } = await addMember(vault, "manager", ["/a/**"]);
    for (const by of [reader, editor, await acme.add()])
      expect(await create(by, shared)).toMatchObject(refused);
    const { paths: _paths, ...everywhere } = shared;
    expect(await create(manager, everywhere)).toMatchObject(refused);
    expect(await create(manager, { ...shared, paths: ["/a/*", "/b/*"] })).toMatchObject(refused);
    expect(await create(manager, { ...shared, vault_ids: [idOf(vault), idOf(foreign)] })).toMatchObject(
      refused,
    );
    expect(await create(manager, { for: "organisation", scopes })).toMatchObject(refused);
    expect(await create(manager, { ...shared, scopes: ["tokens:write"] })).toMatchObject(refused);
    const { status, body } = await create(manager, shared);
    expect([status, body.owner_id]).toEqual([201, undefined]);
    expect(await use(body.value, valueOf(vault, "/a/KEY"))).toEqual([200, 200]);
    expect(await use(body.value, valueOf(vault, "/b/KEY"))).toEqual([403, 403]);
    expect(await use(body.value, foreign)).toEqual([404, 404]);
    expect((await create(creator, everywhere)).status).toBe(201);
  });

  test("of an owner without grants reads no secret, and may see the logs of all vaults", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const forAll = { for: "organisation", vault_ids: [idOf(vault)] } as const;
    expect(await create(acme.owner, { ...forAll, scopes: ["secrets:read"] })).toMatchObject(refused);
    expect(await create(acme.owner, { ...forAll, scopes: ["secrets:list"] })).toMatchObject(refused);
    const { body } = await create(acme.owner, { for: "organisation", scopes: ["audit:read"] });
    expect(await use(body.value, `${vault}/audit`)).toEqual([200, 200]);
    expect(await use(body.value, valueOf(vault, "/KEY"))).toEqual([403, 403]);
    await share(acme.owner, vault, { holder: personHolder(acme.owner), role: "reader" });
    expect((await create(acme.owner, { ...forAll, scopes: ["secrets:read"] })).status).toBe(201);
  });

  test("stays when its creator loses the grant and leaves; whoever could create it, and an owner, end it", async () => {
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const { person, grant } = await addMember(vault, "manager");
    const shared = { for: "organisation", scopes: ["secrets:read"], vault_ids: [idOf(vault)] } as const;
    const [first, second] = [
      await addMemberToken(person, acme.organisation, shared),
      await addMemberToken(person, acme.organisation, shared),
    ];
    const path = valueOf(vault, "/KEY");
    expect(await statusOf(creator, "DELETE", grant)).toBe(204);
    expect(await statusOf(person, "DELETE", `${tokens()}/${first.id}`)).toBe(403);
    expect(await statusOf(person, "POST", `${acme.organisation}/leave`)).toBe(204);
    expect([await use(first.value, path), await use(second.value, path)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    const { person: reader } = await addMember(vault, "reader");
    expect(await statusOf(reader, "DELETE", `${tokens()}/${first.id}`)).toBe(403);
    expect(await statusOf(creator, "DELETE", `${tokens()}/${first.id}`)).toBe(204);
    expect(await statusOf(acme.owner, "DELETE", `${tokens()}/${second.id}?wait=all`)).toBe(204);
    await becomes(first.value, path, 401);
    expect(await use(second.value, path)).toEqual([401, 401]);
  });
});

describe("who sees and changes tokens", () => {
  let vault: string;
  let person: Teammate;
  let colleague: Teammate;
  let own: IssuedToken;
  let shared: IssuedToken;
  beforeAll(async () => {
    vault = await createVault(creator, acme.organisation, ["/KEY"]);
    ({ person } = await addMember(vault, "reader"));
    ({ person: colleague } = await addMember(vault, "reader"));
    own = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    const scope = { scopes: ["secrets:read"], vault_ids: [idOf(vault)] } as const;
    shared = await addMemberToken(creator, acme.organisation, { for: "organisation", ...scope });
  });

  test("a member sees their own and the organisation's, an owner all, others none", async () => {
    const seen = async (by: Teammate) => {
      const ids = (await listTokens(by, "?limit=200")).map(({ id }) => id);
      return [ids.includes(own.id), ids.includes(shared.id)];
    };
    expect([await seen(person), await seen(colleague), await seen(acme.owner)]).toEqual([
      [true, true],
      [false, true],
      [true, true],
    ]);
    const get = (by: Teammate, id: string) => statusOf(by, "GET", `${tokens()}/${id}`);
    expect([
      await get(person, own.id),
      await get(colleague, own.id),
      await get(colleague, shared.id),
    ]).toEqual([200, 404, 200]);
    expect(await get(acme.owner, own.id)).toBe(200);
    const auditor = await acme.add("auditor");
    const outsider = await addTeammate(keep);
    expect([await statusOf(auditor, "GET", tokens()), await statusOf(outsider, "GET", tokens())]).toEqual([
      200, 404,
    ]);
  });

  test("nobody but its owner gets a new value of a member's token, nor renames it unless they own the organisation", async () => {
    const path = `${tokens()}/${own.id}`;
    for (const by of [colleague, creator]) {
      expect((await by.send("POST", `${path}/rotate`, {})).status).toBeGreaterThanOrEqual(403);
      expect(await statusOf(by, "PATCH", path, { name: "Renamed" })).toBeGreaterThanOrEqual(403);
      expect(await statusOf(by, "DELETE", path)).toBeGreaterThanOrEqual(403);
    }
    expect(await acme.owner.send("POST", `${path}/rotate`, {})).toMatchObject(refused);
    expect(await statusOf(acme.owner, "PATCH", path, { name: "Renamed" })).toBe(200);
    expect(await statusWith(keep, own.value, "GET", valueOf(vault, "/KEY"))).toBe(200);
    const rotated = await succeed<IssuedToken>(person, "POST", `${path}/rotate`, {});
    await becomes(own.value, valueOf(vault, "/KEY"), 401);
    expect(await use(rotated.value, valueOf(vault, "/KEY"))).toEqual([200, 200]);
    expect(await statusOf(acme.owner, "DELETE", path)).toBe(204);
    await becomes(rotated.value, valueOf(vault, "/KEY"), 401);
    // Revoked, it is found by whoever found it before.
    const renamed = { name: "Again" };
    const statuses = [colleague, acme.owner].map((by) => statusOf(by, "PATCH", path, renamed));
    expect(await Promise.all(statuses)).toEqual([404, 409]);
  });

  test("a new value of the organisation's token is for those who could have created it", async () => {
    const path = `${tokens()}/${shared.id}/rotate`;
    for (const by of [person, acme.owner]) expect(await by.send("POST", path, {})).toMatchObject(refused);
    const rotated = await succeed<IssuedToken>(creator, "POST", path, {});
    expect(await use(rotated.value, valueOf(vault, "/KEY"))).toEqual([200, 200]);
  });

  test("tokens of an organisation are not among those of the person's account, nor reached from there", async () => {
    const token = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    const personal = await succeed<{ items: ApiToken[] }>(person, "GET", "/api/secrets/tokens");
    expect(personal.items).toEqual([]);
    for (const [method, path, body] of [
      ["GET", ""],
      ["PATCH", "", { name: "Renamed" }],
      ["POST", "/rotate", {}],
      ["DELETE", ""],
    ] as const)
      expect(await statusOf(person, method, `/api/secrets/tokens/${token.id}${path}`, body)).toBe(404);
    expect(await statusWith(keep, token.value, "GET", valueOf(vault, "/KEY"))).toBe(200);
    expect(await statusWith(keep, token.value, "GET", `/api/secrets/vaults/${person.vaultId}`)).toBe(404);
  });

  test("no token of a member opens the routes of the organisation", async () => {
    const { value } = await addMemberToken(acme.owner, acme.organisation, {
      scopes: ["tokens:write", "audit:read"],
    });
    for (const path of ["", "/members", "/teams", "/tokens", "/vaults", "/audit"])
      expect(await statusWith(keep, value, "GET", acme.organisation + path)).toBe(403);
    expect(await statusWith(keep, value, "GET", "/api/secrets/tokens")).toBe(200);
  });
});
