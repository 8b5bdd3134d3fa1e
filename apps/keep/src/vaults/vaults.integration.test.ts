import { Client } from "pg";
import { expect, test } from "vitest";
import { openVault } from "../test/open-vault.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

test("the vault list is an array of objects with exactly four fields", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["vaults:read"] });
  const response = await keep.request("/api/secrets/vaults", {
    token: token.text,
    headers: { "content-type": "application/json" },
  });
  expect([response.status, await response.json()]).toEqual([
    200,
    [
      {
        id: person.vaultId,
        name: "Personal",
        is_encrypted: true,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ],
  ]);
});

test("a missing token gives 401, a token without the scope 403", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: ["tokens:read"] });
  const without = await keep.request("/api/secrets/vaults");
  expect([without.status, await without.json()]).toEqual([
    401,
    expect.objectContaining({ code: "unauthenticated" }),
  ]);
  const lacking = await keep.request("/api/secrets/vaults", { token: token.text });
  expect([lacking.status, await lacking.json()]).toEqual([
    403,
    expect.objectContaining({
      code: "insufficient_scope",
      detail: "This request requires the scope vaults:read",
    }),
  ]);
});

test("a value that is not encrypted cannot be stored, so that no list of vaults has to search for one", async () => {
  await using vault = await openVault();
  await vault.write("/KEY", "value");
  await using cleanup = new AsyncDisposableStack();
  const superuser = cleanup.adopt(new Client(vault.databaseUrl), (client) => client.end());
  await superuser.connect();
  const store = (sealed: string) => superuser.query("UPDATE secret_version SET sealed = $1", [sealed]);
  // 23514 is a violated check constraint.
  await expect(store("value")).rejects.toMatchObject({ code: "23514" });
  await expect(store("\\x00")).rejects.toMatchObject({ code: "23514" });
  expect((await store("\\x01")).rowCount).toBe(1);
});
