import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../authorization/scopes.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;
let vault: OpenedVault;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  vault = await openVault(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

/** A vault that may be deleted, unlike the personal one. */
async function addProject(): Promise<string> {
  const [status, created] = await vault.json("POST", "/api/secrets/vaults", { name: "project" });
  expect(status).toBe(201);
  return `/api/secrets/vaults/${created.id}`;
}

test.each([
  { verb: "renames", method: "PATCH", path: "", body: { name: "renamed" } },
  { verb: "deletes", method: "DELETE", path: "" },
  { verb: "purges", method: "DELETE", path: "?purge=true" },
  { verb: "rotates the key of", method: "POST", path: "/rotate-key" },
  { verb: "reads the audit log of", method: "GET", path: "/audit" },
])("a token limited to paths never $verb a whole vault", async ({ method, path, body }) => {
  const project = await addProject();
  const everywhere = await vault.addToken({ scopes, paths: ["/**"] });
  for (const paths of [["/dev/**"], ["/*"], ["/dev/**", "/prod/**"]]) {
    const limited = await vault.addToken({ scopes, paths });
    const [status, { code }] = await vault.as(limited).json(method, project + path, body);
    expect([paths, status, code]).toEqual([paths, 403, "out_of_reach"]);
  }
  const [allowed] = await vault.as(everywhere).json(method, project + path, body);
  expect([200, 202, 204]).toContain(allowed);
});

test("a token limited to paths cannot revoke or rename one with a wider reach, but its own kind", async () => {
  const limited = await vault.addToken({ scopes, paths: ["/dev/**"] });
  const { id: wide } = await keep.addToken(vault.person, { scopes: ["secrets:read"] });
  const { id: narrow } = await keep.addToken(vault.person, { scopes, paths: ["/dev/app/**"] });
  const manage = async (id: string) => {
    const renamed = await vault.as(limited).json("PATCH", `/api/secrets/tokens/${id}`, { name: "taken" });
    const revoked = await vault.as(limited).json("DELETE", `/api/secrets/tokens/${id}`);
    return [renamed[0], revoked[0]];
  };
  expect(await manage(wide)).toEqual([403, 403]);
  expect(await manage(narrow)).toEqual([200, 204]);
});

test("a token cannot plant a reference to a secret that it may not read", async () => {
  await vault.write("/prod/DB", "hunter2");
  const writer = await vault.addToken({ scopes: ["secrets:write"], paths: ["/app/**"] });
  const reader = await vault.addToken({ scopes: ["secrets:write", "secrets:read"], paths: ["/app/**"] });
  const both = await vault.addToken({
    scopes: ["secrets:write", "secrets:read"],
    paths: ["/app/**", "/prod/**"],
  });
  const value = "https://attacker.test/?q=${/prod/DB}";
  const plant = async (token: string) => {
    const { json } = vault.as(token);
    const responses = [
      await json("PUT", "/secrets/by-path/app/URL", { value }),
      await json("POST", "/batch", { operations: [{ op: "put", path: "/app/URL", value }] }),
      await json("POST", "/import?format=dotenv&path=/app", { content: `URL='${value}'` }),
    ];
    return responses.map(([status]) => status);
  };
  expect(await plant(writer)).toEqual([403, 403, 403]);
  expect(await plant(reader)).toEqual([403, 403, 403]);
  const escaped = value.replace("${", () => "$${");
  expect((await vault.as(writer).json("PUT", "/secrets/by-path/app/TEXT", { value: escaped }))[0]).toBe(201);
  expect(await plant(both)).toEqual([201, 200, 200]);
  const [, read] = await vault.json("GET", "/values/by-path/app/URL?expand=references");
  expect(read.value).toBe("https://attacker.test/?q=hunter2");
});

test("a token cannot bring back an older version with a reference to a secret that it may not read", async () => {
  await vault.write("/prod/KEY", "hunter2");
  const { id } = await vault.write("/back/URL", "${/prod/KEY}");
  await vault.write("/back/URL", "plain");
  const restore = async (paths: readonly string[], version: number) => {
    const token = await vault.addToken({ scopes: ["secrets:write", "secrets:read"], paths });
    return vault.as(token).json("POST", `/secrets/${id}/versions/${version}/restore`);
  };
  expect(await restore(["/back/**"], 1)).toMatchObject([403, { code: "out_of_reach" }]);
  expect(await restore(["/back/**"], 2)).toMatchObject([200, { version: 3 }]);
  expect(await restore(["/back/**", "/prod/**"], 1)).toMatchObject([200, { version: 4 }]);
});

test("the owner's audit log names a token used from a forbidden address, after its expiry or on another vault", async () => {
  const project = await addProject();
  const [elsewhere, expired, confined] = await Promise.all([
    vault.addToken({ scopes, addresses: ["10.0.0.0/8"] }),
    vault.addToken({ scopes, expiresAt: new Date(Date.now() - 1000) }),
    vault.addToken({ scopes, vaultIds: [vault.person.vaultId] }),
  ]);
  const target = `${project}/secrets`;
  for (const [token, status] of [
    [elsewhere, 401],
    [expired, 401],
    [confined, 404],
  ] as const) {
    expect((await vault.request("GET", target, { token })).status).toBe(status);
  }
  const denials = async () => {
    const [, { items }] = await vault.json("GET", "/api/secrets/audit?type=denied");
    return items
      .map((item) => ("body" in item ? item.body : undefined))
      .filter((body) => JSON.stringify(body).includes(target));
  };
  await expect.poll(async () => (await denials()).length).toBe(3);
  const route = "GET /api/secrets/vaults/:vault/secrets";
  for (const reason of ["address-not-allowed", "token-expired", "vault-not-allowed"]) {
    expect(await denials()).toContainEqual(
      expect.objectContaining({ type: "denied", route, target, reason, address: "127.0.0.1" }),
    );
  }
});
