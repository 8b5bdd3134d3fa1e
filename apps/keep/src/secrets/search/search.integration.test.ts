import type { FoundSecretPage } from "@hearth-and-keep/vault-contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fullGrant } from "../../authorization/grant.ts";
import {
  addMemberToken,
  addTeam,
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  share,
  succeed,
} from "../../organisations/test/shared-vault.ts";
import type { Teammate } from "../../organisations/test/start-team.ts";
import { addTeammate } from "../../organisations/test/start-team.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { searchAccounts } from "./search-accounts.ts";

let shared: TestKeep;
beforeAll(async () => {
  shared = await startUnlimitedKeep();
});
afterAll(() => shared[Symbol.asyncDispose]());

const address = (query: string, rest = ""): string =>
  `/api/secrets/search?query=${encodeURIComponent(query)}${rest}`;

const pathsOf = ({ items }: FoundSecretPage): readonly string[] => items.map(({ secret }) => secret.path);

async function search(
  keep: Pick<OpenedVault, "request" | "token">,
  query: string,
  { rest = "", token = keep.token.text }: { readonly rest?: string; readonly token?: string } = {},
): Promise<FoundSecretPage> {
  const response = await keep.request("GET", address(query, rest), { token });
  expect([query, response.status]).toEqual([query, 200]);
  // As the status says.
  return (await response.json()) as FoundSecretPage;
}

async function searchAs(person: Teammate, query: string): Promise<FoundSecretPage> {
  return succeed(person, "GET", address(query));
}

test("a search finds paths and tags in all vaults of the account, in any case, and never a value", async () => {
  await using keep = await openVault(shared);
  const [, created] = await keep.json("POST", "/api/secrets/vaults", { name: "Second" });
  const other = `/api/secrets/vaults/${created.id}`;
  const put = (path: string, body: object) => keep.json("PUT", path, body);
  await put("/secrets/by-path/prod/DATABASE_URL", { value: "canary-database", tags: ["Payments"] });
  await put("/secrets/by-path/staging/DATABASE_URL", { value: "canary-staging" });
  await put(`${other}/secrets/by-path/prod/api/TOKEN`, { value: "x", note: "canary-note" });
  const found = await search(keep, "database");
  expect(found).toMatchObject({
    is_complete: true,
    items: [
      { vault_id: keep.person.vaultId, secret: { path: "/prod/DATABASE_URL", tags: ["Payments"] } },
      { vault_id: keep.person.vaultId, secret: { path: "/staging/DATABASE_URL" } },
    ],
  });
  expect(JSON.stringify(found)).not.toContain("canary");
  expect(pathsOf(await search(keep, "prod"))).toEqual(["/prod/DATABASE_URL", "/prod/api/TOKEN"]);
  expect((await search(keep, "token api")).items).toMatchObject([{ vault_name: "Second" }]);
  expect(pathsOf(await search(keep, "pAyMenTs database"))).toEqual(["/prod/DATABASE_URL"]);
  expect(pathsOf(await search(keep, "payments staging"))).toEqual([]);
  for (const hidden of ["canary", "canary-note", "Second"])
    expect(pathsOf(await search(keep, hidden))).toEqual([]);
});

test("deleted secrets, and those in deleted vaults, are found again only once they are restored", async () => {
  await using keep = await openVault(shared);
  const secret = await keep.write("/gone", "x");
  const [, { id }] = await keep.json("POST", "/api/secrets/vaults", { name: "Second" });
  const other = `/api/secrets/vaults/${id}`;
  await keep.json("PUT", `${other}/secrets/by-path/gone`, { value: "x" });
  await keep.json("DELETE", `/secrets/${secret.id}`);
  expect((await search(keep, "gone")).items).toMatchObject([{ vault_id: id }]);
  await keep.json("DELETE", other);
  expect(pathsOf(await search(keep, "gone"))).toEqual([]);
  await keep.json("POST", `/secrets/${secret.id}/restore`);
  await keep.json("POST", `${other}/restore`);
  expect(pathsOf(await search(keep, "gone"))).toEqual(["/gone", "/gone"]);
});

test("characters that patterns of SQL or regular expressions give a meaning stand for themselves", async () => {
  await using keep = await openVault(shared);
  const names = [
    "100%",
    "under_score",
    "back\\slash",
    "a.b",
    "(x|y)*",
    "it's",
    "$1",
    "ÄPFEL-ß",
    "日本",
    "😀",
  ];
  for (const name of names)
    await keep.json("PUT", `/secrets/by-path/${encodeURIComponent(name)}`, { value: "x" });
  for (const name of names) expect([name, pathsOf(await search(keep, name))]).toEqual([name, [`/${name}`]]);
  expect(pathsOf(await search(keep, "äpfel"))).toEqual(["/ÄPFEL-ß"]);
  // Composed from a letter and a combining mark.
  expect(pathsOf(await search(keep, "a\u0308pfel"))).toEqual(["/ÄPFEL-ß"]);
  const [, list] = await keep.json("GET", `/secrets?q=${encodeURIComponent("äPFEL")}`);
  expect(list.items.map(({ name }) => name)).toEqual(["ÄPFEL-ß"]);
  for (const query of ["%%", "a%b", "_nder", "\\\\", "a.*", ".+", "x' OR '1'='1", "\ufffd"])
    expect([query, pathsOf(await search(keep, query))]).toEqual([query, []]);
});

test("a query is one line of at most 200 characters and 10 words", async () => {
  await using keep = await openVault(shared);
  await keep.write("/w", "x");
  const statusOf = async (query: string) => (await keep.request("GET", address(query))).status;
  const tenWords = Array.from({ length: 10 }, (_, index) => `word${index}`).join(" ");
  for (const query of ["w", "w".repeat(200), tenWords, "w w w w w w w w w w w w w"])
    expect([query, await statusOf(query)]).toEqual([query, 200]);
  for (const query of ["", " ", "w".repeat(201), `${tenWords} word10`, "w\0", "a\nb", "\u202ew"])
    expect([query, await statusOf(query)]).toEqual([query, 422]);
  for (const path of ["/api/secrets/search", address("w", "&limit=201"), address("w", "&vault=1")])
    expect([path, (await keep.request("GET", path)).status]).toEqual([path, 422]);
});

test("pages contain every match once, also while secrets that are not allowed match in between", async () => {
  await using keep = await openVault(shared);
  const [, { id }] = await keep.json("POST", "/api/secrets/vaults", { name: "Second" });
  const operations = ["hidden", "open"].flatMap((folder) =>
    Array.from({ length: 9 }, (_, index) => ({ op: "put", path: `/${folder}/KEY_${index}`, value: "x" })),
  );
  for (const path of ["/batch", `/api/secrets/vaults/${id}/batch`])
    await keep.json("POST", path, { operations });
  const token = await keep.addToken({ scopes: ["secrets:list"], paths: ["/open/**"] });
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const rest = cursor === undefined ? "&limit=4" : `&limit=4&cursor=${cursor}`;
    const page = await search(keep, "key", { rest, token });
    expect(page.items.length).toBeLessThanOrEqual(4);
    found.push(...page.items.map(({ vault_id, secret }) => vault_id + secret.path));
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  const expected = [keep.person.vaultId, id].flatMap((vault) =>
    Array.from({ length: 9 }, (_, index) => `${vault}/open/KEY_${index}`),
  );
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(await search(keep, "key", { rest: "&limit=200" })).toHaveProperty("items.length", 36);
});

test("a token finds what its path patterns, vaults and scopes allow it to list", async () => {
  await using keep = await openVault(shared);
  const [, { id }] = await keep.json("POST", "/api/secrets/vaults", { name: "Second" });
  for (const path of ["/prod/a", "/prod/deep/a", "/dev/a"]) await keep.write(path, "x");
  await keep.json("PUT", `/api/secrets/vaults/${id}/secrets/by-path/prod/a`, { value: "x" });
  const cases = [
    [{ paths: ["/prod/*"] }, ["/prod/a", "/prod/a"]],
    [{ paths: ["/prod/**"], vaultIds: [keep.person.vaultId] }, ["/prod/a", "/prod/deep/a"]],
    [{ vaultIds: [id] }, ["/prod/a"]],
    [{ paths: ["/elsewhere/**"] }, []],
  ] as const;
  for (const [limits, expected] of cases) {
    const token = await keep.addToken({ scopes: ["secrets:list"], ...limits });
    expect([limits, pathsOf(await search(keep, "a", { token }))]).toEqual([limits, expected]);
  }
  const blind = await keep.addToken({ scopes: ["vaults:read", "tokens:write", "audit:read"] });
  const refused = await keep.request("GET", address("a"), { token: blind });
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: "insufficient_scope" }]);
});

function encode(values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

test("a cursor of another list, or a forged one, is rejected or stays within what the caller may list", async () => {
  await using keep = await openVault(shared);
  await using stranger = await openVault(shared);
  for (const name of ["key1", "key2"])
    for (const vault of [keep, stranger]) await vault.write(`/${name}`, "x");
  const { accountId, vaultId } = stranger.person;
  for (const values of [
    [],
    ["/", "a"],
    [accountId, vaultId, "/"],
    ["x", vaultId, "/", "a"],
    [accountId, vaultId, "/\0", "a"],
  ]) {
    const response = await keep.request("GET", address("key", `&cursor=${encode(values)}`));
    expect([values, response.status]).toEqual([values, 422]);
  }
  const page = await search(keep, "key", { rest: `&cursor=${encode([accountId, vaultId, "/", "key1"])}` });
  expect(page.items.every(({ vault_id }) => vault_id === keep.person.vaultId)).toBe(true);
  const own = await search(keep, "key", { rest: "&limit=1" });
  expect(pathsOf(await search(keep, "key", { rest: `&cursor=${own.next_cursor}` }))).toEqual(["/key2"]);
});

test("a search that takes too long ends before its next statement, and says that it is not complete", async () => {
  await using keep = await openVault(shared);
  await keep.write("/key", "x");
  const accounts = [{ accountId: keep.person.accountId, grant: fullGrant }];
  const searchAt = (...times: readonly number[]) => {
    const clock = times.values();
    const now = () => clock.next().value ?? 0;
    return searchAccounts(
      accounts,
      { words: ["key"], after: null, limit: 5 },
      { database: keep.database, now },
    );
  };
  expect(await searchAt(0, 5001)).toMatchObject({ isComplete: false, page: [] });
  expect(await searchAt(0, 4999)).toMatchObject({ isComplete: true, page: [{ name: "key" }] });
});

describe("in organisations", () => {
  test("people find what their grants let them list, and nobody finds what is in another account", async () => {
    const acme = await createOrganisation(shared);
    const creator = await acme.add();
    const [open, mixed, hidden] = [
      await createVault(creator, acme.organisation, ["/app/shared-key"]),
      await createVault(creator, acme.organisation, ["/app/shared-key", "/ops/shared-key"]),
      await createVault(creator, acme.organisation, ["/app/shared-key"]),
    ];
    const member = await acme.add();
    const outsider = await addTeammate(shared);
    await share(creator, open, { holder: personHolder(member), role: "reader" });
    const { path: teamPath, ...team } = await addTeam(acme.owner, acme.organisation, [member]);
    await share(creator, mixed, { holder: team, role: "editor", paths: ["/ops/**"] });
    await succeed(member, "PUT", `/api/secrets/vaults/${member.vaultId}/secrets/by-path/shared-key`, {
      value: "x",
    });
    const places = async (person: Teammate) =>
      (await searchAs(person, "shared-key")).items.map(
        ({ vault_id, organisation_name = "", secret }) => `${organisation_name} ${vault_id}${secret.path}`,
      );
    const own = ` ${member.vaultId}/shared-key`;
    const granted = [`Acme ${idOf(open)}/app/shared-key`, `Acme ${idOf(mixed)}/ops/shared-key`];
    expect((await places(member)).toSorted()).toEqual([own, ...granted].toSorted());
    expect(await places(creator)).toHaveLength(4);
    // The role of an owner lists vaults, not what is in them.
    for (const person of [acme.owner, outsider]) expect(await places(person)).toEqual([]);
    const token = await addMemberToken(member, acme.organisation, {
      scopes: ["secrets:list"],
      paths: ["/ops/**"],
    });
    const response = await shared.request(address("shared-key"), { token: token.value });
    // As the OpenAPI document says.
    expect(pathsOf((await response.json()) as FoundSecretPage)).toEqual(["/ops/shared-key"]);
    await succeed(acme.owner, "DELETE", `${teamPath}/members/${member.accountId}`);
    expect((await places(member)).toSorted()).toEqual([own, ...granted.slice(0, 1)].toSorted());
    await succeed(acme.owner, "DELETE", `${acme.organisation}/members/${member.accountId}`);
    expect(await places(member)).toEqual([own]);
    expect(JSON.stringify(await searchAs(creator, "shared-key"))).toContain(idOf(hidden));
  });
});
