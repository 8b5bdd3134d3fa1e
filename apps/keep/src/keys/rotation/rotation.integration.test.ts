import { expect, test } from "vitest";
import { readJson } from "../../test/read-json.ts";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";

async function readOperation(keep: TestKeep, token: string, id: string): Promise<unknown> {
  return (await keep.request(`/api/secrets/operations/${id}`, { token })).json();
}

test("a rotation re-encrypts the vault and destroys the old key, and all values and notes stay readable", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, {
    scopes: ["keys:rotate", "secrets:read", "secrets:write", "secrets:delete", "audit:read"],
  });
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  const put = (name: string, value: string) =>
    keep.request(`${vault}/secrets/by-path/a/${name}`, {
      method: "PUT",
      token,
      body: { value, note: `note of ${value}` },
    });
  for (const value of ["one", "two"]) await put("KEY", value);
  const gone = await readJson<{ id: string }>(put("GONE", "three"));
  await keep.request(`${vault}/secrets/${gone.id}`, { method: "DELETE", token });
  const options = { method: "POST", token, headers: { "idempotency-key": "once" } };
  const started = await keep.request(`${vault}/rotate-key`, options);
  expect(started.status).toBe(202);
  const { operation } = await readJson<{ operation: { id: string } }>(started);
  expect(await (await keep.request(`${vault}/rotate-key`, options)).json()).toEqual({ operation });
  const again = await keep.request(`${vault}/rotate-key`, { method: "POST", token });
  expect([again.status, await again.json()]).toMatchObject([409, { code: "conflict" }]);
  await expect
    .poll(() => readOperation(keep, token, operation.id), { timeout: 30_000 })
    .toMatchObject({ state: "done", done_items: 2, vault_id: person.vaultId });
  const keys = await keep.database.queryInAccount(person.accountId, {
    text: "SELECT version, status FROM vault_key WHERE account_id = entered.account::uuid AND vault_id = $2",
    values: [person.vaultId],
  });
  expect(keys).toEqual([{ version: 2, status: "active" }]);
  const value = await keep.request(`${vault}/values/by-path/a/KEY`, { token });
  expect(await value.json()).toMatchObject({ value: "two", version: 2, note: "note of two" });
  await keep.request(`${vault}/secrets/${gone.id}/restore`, { method: "POST", token });
  expect(await (await keep.request(`${vault}/values/by-path/a/GONE`, { token })).json()).toMatchObject({
    value: "three",
  });
  const log = await (await keep.request(`${vault}/audit?limit=200`, { token })).text();
  expect(["data-key-rotated", "data-key-destroyed"].map((type) => log.includes(type))).toEqual([true, true]);
});

test("a rotation does not re-encrypt a tampered secret and ends as failed", async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, {
    scopes: ["keys:rotate", "secrets:read", "secrets:write"],
  });
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  for (const name of ["GOOD", "BAD"]) {
    await keep.request(`${vault}/secrets/by-path/${name}`, { method: "PUT", token, body: { value: name } });
  }
  await keep.database.inAccount(person.accountId, (transaction) =>
    transaction.query({ text: "UPDATE secret SET tags = '{forged}' WHERE name = 'BAD'" }),
  );
  const started = await keep.request(`${vault}/rotate-key`, { method: "POST", token });
  const { operation } = await readJson<{ operation: { id: string } }>(started);
  await expect
    .poll(() => readOperation(keep, token, operation.id), { timeout: 30_000 })
    .toMatchObject({ state: "failed", done_items: 1 });
  expect(await (await keep.request(`${vault}/values/by-path/GOOD`, { token })).json()).toMatchObject({
    value: "GOOD",
  });
  expect((await keep.request(`${vault}/values/by-path/BAD`, { token })).status).toBe(500);
});

test("another account's operation, a missing one and a malformed id give the same response", async () => {
  await using keep = await startTestKeep();
  const [person, stranger] = [await keep.addPerson(), await keep.addPerson()];
  const { text: token } = await keep.addToken(person, { scopes: ["keys:rotate"] });
  const { text: theirs } = await keep.addToken(stranger, { scopes: ["keys:rotate"] });
  const started = await keep.request(`/api/secrets/vaults/${person.vaultId}/rotate-key`, {
    method: "POST",
    token,
  });
  const { operation } = await readJson<{ operation: { id: string } }>(started);
  const statusOf = async (id: string) =>
    (await keep.request(`/api/secrets/operations/${id}`, { token: theirs })).status;
  expect(await Promise.all([operation.id, person.vaultId, "x"].map(statusOf))).toEqual([404, 404, 404]);
  expect((await keep.request(`/api/secrets/operations/${operation.id}`, { token })).status).toBe(200);
  const foreign = await keep.request(`/api/secrets/vaults/${person.vaultId}/rotate-key`, {
    method: "POST",
    token: theirs,
  });
  expect(foreign.status).toBe(404);
});
