import { hasLooseTimingBounds } from "@hearth-and-keep/figures";
import type { VaultAccess } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  addMemberToken,
  addTeam,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  read,
  share,
  statusOf,
  statusWith,
  type TestOrganisation,
  valueOf,
  write,
} from "../organisations/test/shared-vault.ts";
import type { Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

/** On another node, where what a token may do is kept in memory. */
const maxMilliseconds = hasLooseTimingBounds ? 10_000 : 1000;

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

const actions = ["list", "read", "read all", "write", "delete", "destroy", "settings", "log"] as const;
const managing = ["list grants", "share", "rotate key", "delete vault"] as const;
type Statuses = Readonly<Record<(typeof actions | typeof managing)[number], number>>;

const withRest = (statuses: Partial<Statuses>, rest: 403 | 404) => ({
  ...Object.fromEntries([...actions, ...managing].map((action) => [action, rest])),
  ...statuses,
});

/** Everything that one can do in a vault, in an order in which it works. */
async function tryAll(person: Teammate, vault: string): Promise<Statuses> {
  const secret = await write(creator, vault, ["/app/KEY", "old"]);
  await write(creator, vault, ["/app/KEY", "new"]);
  await write(creator, vault, ["/app/DELETED", "x"]);
  const grant = { holder: personHolder(acme.owner), role: "reader", paths: ["/shared/**"] };
  return {
    list: await statusOf(person, "GET", `${vault}/secrets?path=/app`),
    read: await read(person, vault, "/app/KEY"),
    "read all": await statusOf(person, "GET", `${vault}/values?path=/app`),
    write: await statusOf(person, "PUT", `${vault}/secrets/by-path/app/NEW`, { value: "x" }),
    delete: await statusOf(person, "DELETE", `${vault}/secrets/by-path/app/DELETED`),
    destroy: await statusOf(person, "DELETE", `${vault}/secrets/${secret}/versions/1`),
    settings: await statusOf(person, "PATCH", vault, { name: "Renamed" }),
    log: await statusOf(person, "GET", `${vault}/audit`),
    "list grants": await statusOf(person, "GET", `${vault}/grants`),
    share: await statusOf(person, "POST", `${vault}/grants`, grant),
    "rotate key": await statusOf(person, "POST", `${vault}/rotate-key`),
    "delete vault": await statusOf(person, "DELETE", vault),
  };
}

describe("what a role allows", () => {
  const reading = { list: 200, read: 200, "read all": 200 };
  const changing = { write: 201, delete: 204 };
  const ruling = { settings: 200, log: 200, "list grants": 200, share: 201, "rotate key": 202 };
  const allowed = {
    reader: reading,
    editor: { ...reading, ...changing },
    manager: { ...reading, ...changing, ...ruling, destroy: 204, "delete vault": 204 },
  };

  test.each(
    (["reader", "editor", "manager"] as const).flatMap((role) => [
      { role, through: "person" as const },
      { role, through: "team" as const },
    ]),
  )("a $role by a grant to the $through may do exactly that", async ({ role, through }) => {
    const person = await acme.add();
    const vault = await createVault(creator, acme.organisation);
    const team = await addTeam(acme.owner, acme.organisation, [person]);
    const holder = through === "person" ? personHolder(person) : { type: team.type, id: team.id };
    await share(creator, vault, { holder, role });
    expect(await tryAll(person, vault)).toEqual(withRest(allowed[role], 403));
  });

  test("an owner of the organisation manages a vault and reads nothing without a grant", async () => {
    const vault = await createVault(creator, acme.organisation);
    const expected = withRest({ ...ruling, "delete vault": 204 }, 403);
    expect(await tryAll(acme.owner, vault)).toEqual(expected);
  });

  test("an auditor sees a vault and its log, and no secret", async () => {
    const auditor = await acme.add("auditor");
    const vault = await createVault(creator, acme.organisation);
    expect(await statusOf(auditor, "GET", vault)).toBe(200);
    expect(await tryAll(auditor, vault)).toEqual(withRest({ log: 200 }, 403));
  });

  test("a member without a grant, a team without one, and an outsider find no vault", async () => {
    const vault = await createVault(creator, acme.organisation);
    const member = await acme.add();
    await addTeam(acme.owner, acme.organisation, [member]);
    const { owner: outsider } = await createOrganisation(keep);
    expect(await tryAll(member, vault)).toEqual(withRest({}, 404));
    expect(await tryAll(outsider, vault)).toEqual(withRest({}, 404));
    const listed = await member.send<unknown[]>("GET", `${acme.organisation}/vaults`);
    expect([listed.status, listed.body]).toEqual([200, []]);
    await share(creator, vault, { holder: personHolder(member), role: "reader" });
    const found = await member.send<{ id: string }[]>("GET", `${acme.organisation}/vaults`);
    expect(found.body.map(({ id }) => id)).toEqual([idOf(vault)]);
  });
});

const batchIn = (folder: string) => ({ operations: [{ op: "put", path: `${folder}/B`, value: "x" }] });

describe("grants at paths", () => {
  const paths = ["/dev/KEY", "/prod/KEY", "/other/KEY"] as const;
  let vault: string;
  let person: Teammate;
  beforeAll(async () => {
    vault = await createVault(creator, acme.organisation, paths);
    person = await acme.add();
    await share(creator, vault, { holder: personHolder(person), role: "reader", paths: ["/prod/**"] });
    await share(creator, vault, { holder: personHolder(person), role: "editor", paths: ["/dev/**"] });
  });

  const patch = (path: string, body: object) =>
    statusOf(person, "PATCH", `${vault}/secrets/by-path${path}`, body);
  const pathsOf = async (url: string): Promise<readonly string[]> =>
    (await person.send<{ items: { path: string }[] }>("GET", vault + url)).body.items.map(({ path }) => path);

  test("each allows its own role at its own paths, and nothing more together", async () => {
    expect(await Promise.all(paths.map((path) => read(person, vault, path)))).toEqual([200, 200, 403]);
    const put = (path: string) => statusOf(person, "PUT", `${vault}/secrets/by-path${path}`, { value: "x" });
    expect([await put("/dev/NEW"), await put("/prod/NEW"), await put("/other/NEW")]).toEqual([201, 403, 403]);
    expect(await statusOf(person, "DELETE", `${vault}/secrets/by-path/prod/KEY`)).toBe(403);
    expect(await statusOf(person, "DELETE", `${vault}/secrets/by-path/dev/NEW`)).toBe(204);
    expect(await statusOf(person, "POST", `${vault}/batch`, batchIn("/prod"))).toBe(403);
    expect(await statusOf(person, "POST", `${vault}/batch`, batchIn("/dev"))).toBe(200);
  });

  test("nothing is moved or promoted to where it may not be written", async () => {
    expect(await patch("/dev/KEY", { folder: "/prod" })).toBe(403);
    expect(await patch("/dev/KEY", { folder: "/other" })).toBe(403);
    expect(await patch("/prod/KEY", { folder: "/dev" })).toBe(403);
    expect(await patch("/dev/KEY", { folder: "/dev/moved" })).toBe(200);
    expect(await patch("/dev/moved/KEY", { folder: "/dev" })).toBe(200);
    const promote = (from: string, to: string) => statusOf(person, "POST", `${vault}/promote`, { from, to });
    expect([await promote("/dev", "/prod"), await promote("/other", "/dev")]).toEqual([403, 403]);
    expect(await promote("/prod", "/dev/promoted")).toBe(200);
    const move = (from: string, to: string) =>
      statusOf(person, "POST", `${vault}/folders/move`, { from, to });
    expect([await move("/dev/promoted", "/prod/promoted"), await move("/prod", "/dev/prod")]).toEqual([
      403, 403,
    ]);
    expect(await move("/dev/promoted", "/dev/moved")).toBe(200);
    expect(await statusOf(person, "DELETE", `${vault}/folders?path=/dev/moved&recursive=true`)).toBe(200);
  });

  test("lists and bulk reads leave out what is elsewhere, and its ids are not found", async () => {
    const elsewhere = await write(creator, vault, ["/other/KEY", "new"]);
    expect(await pathsOf("/folders?path=/")).toEqual(["/dev", "/prod"]);
    expect(await pathsOf("/values?path=/&recursive=true")).toEqual(["/dev/B", "/dev/KEY", "/prod/KEY"]);
    const listed = await person.send<{ items: { folder: string }[] }>(
      "GET",
      `${vault}/secrets?path=/&recursive=true`,
    );
    expect(new Set(listed.body.items.map(({ folder }) => folder))).toEqual(new Set(["/dev", "/prod"]));
    for (const path of ["", "/value", "/versions"])
      expect(await statusOf(person, "GET", `${vault}/secrets/${elsewhere}${path}`)).toBe(404);
    const dev = await write(creator, vault, ["/dev/KEY", "new"]);
    expect(await statusOf(person, "GET", `${vault}/secrets/${dev}/value`)).toBe(200);
  });

  test("what one may do is described as it is", async () => {
    const { body } = await person.send<VaultAccess>("GET", `${vault}/access`);
    const { organisation_id: organisation, permissions } = body;
    expect(organisation).toBe(acme.accountId);
    expect(permissions.map((one) => one.paths)).toEqual([["/prod/**"], ["/dev/**"]]);
    expect(permissions.map(({ scopes }) => scopes.includes("secrets:write"))).toEqual([false, true]);
  });

  test("a manager of paths neither changes settings nor reads the log, and destroys only there", async () => {
    const manager = await acme.add();
    await share(creator, vault, { holder: personHolder(manager), role: "manager", paths: ["/dev/**"] });
    expect(await statusOf(manager, "PATCH", vault, { name: "Renamed" })).toBe(403);
    expect(await statusOf(manager, "GET", `${vault}/audit`)).toBe(403);
    expect(await statusOf(manager, "DELETE", vault)).toBe(403);
    expect(await statusOf(manager, "POST", `${vault}/rotate-key`)).toBe(403);
    const destroy = async (path: string) => {
      await write(creator, vault, [path, "old"]);
      const secret = await write(creator, vault, [path, "new"]);
      return statusOf(manager, "DELETE", `${vault}/secrets/${secret}/versions/1`);
    };
    expect([await destroy("/dev/DESTROYED"), await destroy("/prod/DESTROYED")]).toEqual([204, 404]);
  });
});

describe("removal", () => {
  test("of a grant or from a team is in force at the next request of a session", async () => {
    const person = await acme.add();
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const team = await addTeam(acme.owner, acme.organisation, [person]);
    const byTeam = await share(creator, vault, { holder: { type: "team", id: team.id }, role: "reader" });
    const byPerson = await share(creator, vault, { holder: personHolder(person), role: "reader" });
    expect(await statusOf(creator, "DELETE", byPerson)).toBe(204);
    expect(await read(person, vault, "/KEY")).toBe(200);
    expect(await statusOf(creator, "DELETE", byTeam)).toBe(204);
    expect(await read(person, vault, "/KEY")).toBe(404);
    await share(creator, vault, { holder: { type: "team", id: team.id }, role: "reader" });
    expect(await read(person, vault, "/KEY")).toBe(200);
    expect(await statusOf(acme.owner, "DELETE", `${team.path}/members/${person.accountId}`)).toBe(204);
    expect(await read(person, vault, "/KEY")).toBe(404);
  });

  test("of a grant ends a token's access on another node within a second", async () => {
    const person = await acme.add();
    const vault = await createVault(creator, acme.organisation, ["/KEY"]);
    const kept = await createVault(creator, acme.organisation, ["/KEY"]);
    const grant = await share(creator, vault, { holder: personHolder(person), role: "reader" });
    await share(creator, kept, { holder: personHolder(person), role: "reader" });
    const { value } = await addMemberToken(person, acme.organisation, { scopes: ["secrets:read"] });
    await using other = await startUnlimitedKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
    const readElsewhere = (path: string) => statusWith(other, value, "GET", valueOf(path, "/KEY"));
    for (let use = 0; use < 3; use += 1) expect(await readElsewhere(vault)).toBe(200);
    expect(await statusOf(creator, "DELETE", grant)).toBe(204);
    await expect.poll(() => readElsewhere(vault), { timeout: maxMilliseconds, interval: 10 }).toBe(404);
    expect(await readElsewhere(kept)).toBe(200);
    await share(creator, vault, { holder: personHolder(person), role: "reader" });
    await expect.poll(() => readElsewhere(vault), { timeout: maxMilliseconds, interval: 10 }).toBe(200);
  });
});
