import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import { resealVaults } from "../test/reseal-vaults.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { deleteExpired } from "./delete-expired.ts";

let keep: TestKeep;
let superuser: Client;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  superuser = new Client(keep.databaseUrl);
  await superuser.connect();
});
afterAll(async () => {
  await superuser.end();
  await keep[Symbol.asyncDispose]();
});

function cleanUp(): Promise<void> {
  return deleteExpired({ ...keep.services, signal: new AbortController().signal });
}

/** The counters of the vault, and the same counted from its rows. */
async function usageOf({ person }: OpenedVault): Promise<readonly [counted: unknown, actual: unknown]> {
  const { rows: counted } = await superuser.query(
    "SELECT live_secrets, all_secrets, stored_bytes::integer FROM vault WHERE id = $1",
    [person.vaultId],
  );
  const { rows: actual } = await superuser.query(
    "SELECT (SELECT count(*)::integer FROM secret WHERE vault_id = $1 AND deleted_at IS NULL) AS live_secrets, (SELECT count(*)::integer FROM secret WHERE vault_id = $1) AS all_secrets, (SELECT sum(coalesce(octet_length(sealed), 0))::integer FROM secret_version WHERE vault_id = $1) AS stored_bytes",
    [person.vaultId],
  );
  return [counted[0], actual[0]];
}

test("what a vault stores is counted through writes, imports, moves, deletions, restores, purges and destroyed versions", async () => {
  const vault = await openVault(keep);
  const first = await vault.write("/app/A", "one");
  await vault.write("/app/A", "another");
  await vault.write("/app/B", "x".repeat(1000));
  const steps: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ["POST", "/import?format=dotenv&path=/app", { content: "C=1\nD=2\nE=3" }],
    ["POST", "/folders/move", { from: "/app", to: "/moved" }],
    ["DELETE", `/secrets/${first.id}/versions/1`],
    ["DELETE", `/secrets/${first.id}`],
    ["POST", `/secrets/${first.id}/restore`],
    ["DELETE", "/folders?path=/moved&recursive=true"],
    ["DELETE", `/secrets/${first.id}?purge=true`],
    ["POST", "/rotate-key"],
  ];
  for (const [method, path, body] of steps) {
    const [status] = await vault.json(method, path, body);
    expect([method, path, status < 300]).toEqual([method, path, true]);
    const [counted, actual] = await usageOf(vault);
    expect([path, counted]).toEqual([path, actual]);
  }
  expect((await usageOf(vault))[0]).toMatchObject({ live_secrets: 0, all_secrets: 4 });
});

test("an account cannot store more than a gibibyte or 20,000 secrets, whether they are deleted or not", async () => {
  const vault = await openVault(keep);
  const kept = await vault.write("/KEPT", "x");
  const fill = (column: string, value: number) =>
    superuser.query(`UPDATE vault SET ${column} = ${column} + $2 WHERE id = $1`, [
      vault.person.vaultId,
      value,
    ]);
  const write = async (path: string) => {
    const [status, { code }] = await vault.json("PUT", `/secrets/by-path${path}`, { value: "y" });
    return [status, code];
  };
  await fill("stored_bytes", 1024 ** 3 - 60);
  expect(await write("/KEPT")).toEqual([409, "quota_exceeded"]);
  await fill("stored_bytes", 60 - 1024 ** 3);
  expect(await write("/KEPT")).toEqual([200, undefined]);
  await fill("all_secrets", 19_999);
  expect(await write("/NEW")).toEqual([409, "quota_exceeded"]);
  expect(await write("/KEPT")).toEqual([200, undefined]);
  expect((await vault.json("DELETE", `/secrets/${kept.id}?purge=true`))[0]).toBe(204);
  expect(await write("/NEW")).toEqual([201, undefined]);
});

test("one cleanup purges every secret that is due, however many were deleted", async () => {
  const { person } = await openVault(keep);
  await superuser.query(
    "INSERT INTO secret (account_id, vault_id, id, folder, name, type, current_version, revision, key_version, mark, updated_by, deleted_at, purge_after) SELECT $1, $2, gen_random_uuid(), '/', 'secret-' || number, 'text', 1, 1, 1, sha256(int4send(number)), 'server', now() - interval '31 days', now() - interval '1 day' FROM generate_series(1, 1200) AS number",
    [person.accountId, person.vaultId],
  );
  await resealVaults(keep, person);
  await cleanUp();
  const { rows } = await superuser.query("SELECT all_secrets FROM vault WHERE id = $1", [person.vaultId]);
  expect(rows).toEqual([{ all_secrets: 0 }]);
});

test("tokens that were revoked or expired more than 90 days ago are removed, later ones stay", async () => {
  const { person } = await openVault(keep);
  const names = ["revoked long ago", "expired long ago", "revoked", "valid"];
  const ids: string[] = [];
  for (const name of names) {
    const { id } = await keep.addToken(person, { scopes: ["vaults:read"] });
    await superuser.query("UPDATE api_token SET name = $2 WHERE id = $1", [id, name]);
    ids.push(id);
  }
  const revoke = (id: string | undefined, age: string) =>
    superuser.query(
      "UPDATE api_token SET revoked_at = now() - $2::interval, revoke_reason = 'asked' WHERE id = $1",
      [id, age],
    );
  await revoke(ids[0], "91 days");
  await superuser.query("UPDATE api_token SET expires_at = now() - interval '91 days' WHERE id = $1", [
    ids[1],
  ]);
  await revoke(ids[2], "89 days");
  await cleanUp();
  const { rows: tokens } = await superuser.query<{ name: string }>(
    "SELECT name FROM api_token WHERE id = ANY ($1) ORDER BY id",
    [ids],
  );
  expect(tokens.map(({ name }) => name)).toEqual(["revoked", "valid"]);
  const { rowCount } = await superuser.query("SELECT FROM token_route WHERE token_id = ANY ($1)", [ids]);
  expect(rowCount).toBe(2);
});
