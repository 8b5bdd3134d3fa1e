import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { compileCacheEnvironment } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));

let keep: TestKeep;
beforeAll(async () => {
  keep = await startTestKeep();
});
afterAll(() => keep[Symbol.asyncDispose]());

/** Runs the command; returns its exit code and output. */
function runKeep(...args: readonly string[]): Promise<readonly [code: number, output: string]> {
  const environment = { KEEP_DATABASE_URL: keep.databaseUrl, KEEP_ENCRYPTION_KEY: keep.key };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: { ...compileCacheEnvironment(), ...environment } },
      (_error, output, stderr) => resolve([child.exitCode ?? -1, output + stderr]),
    );
  });
}

async function runSql(text: string): Promise<void> {
  await asSuperuser(keep.databaseUrl, (superuser) => superuser.query(text));
}

/** Puts columns back from the copy of a table. */
function putBack(table: string, columns: string): Promise<void> {
  const before = columns.replaceAll(/\w+/gu, "old.$&");
  return runSql(
    `UPDATE ${table} SET (${columns}) = ROW(${before}) FROM old_${table} AS old WHERE ${table}.account_id = old.account_id AND ${table}.mac IS DISTINCT FROM old.mac`,
  );
}

async function addMember() {
  const person = await keep.addPerson();
  const token = (await keep.addToken(person, { scopes: ["vaults:read"] })).text;
  const useToken = async () => (await keep.request("/api/secrets/vaults", { token })).status;
  expect(await useToken()).toBe(200);
  return { ...person, useToken };
}

test("an administrator suspends and resumes an account, which takes effect in the running server", {
  timeout: 120_000,
}, async () => {
  const { accountId, useToken } = await addMember();
  expect(await runKeep("account", "suspend", accountId)).toMatchObject([
    0,
    expect.stringContaining("Suspended"),
  ]);
  expect(await useToken()).toBe(401);
  const [, listed] = await runKeep("account", "list");
  expect(listed).toMatch(new RegExp(`^${accountId} {2}suspended {2}general:`, "mu"));
  const [, shown] = await runKeep("account", "show", accountId);
  expect(shown).toMatch(/^identity general:\S+ of https:\/\/issuer\.test, signed in /mu);
  expect(await runKeep("account", "resume", accountId)).toMatchObject([
    0,
    expect.stringContaining("Resumed"),
  ]);
  await expect.poll(useToken).toBe(200);
});

test("an administrator adds and removes operators, and deletes an account by its name", {
  timeout: 120_000,
}, async () => {
  const { accountId, useToken } = await addMember();
  expect((await runKeep("account", "add-operator", accountId))[0]).toBe(0);
  expect((await runKeep("account", "list"))[1]).toContain(`${accountId}  active,operator`);
  expect((await runKeep("account", "remove-operator", accountId))[0]).toBe(0);
  expect((await runKeep("account", "list"))[1]).toMatch(new RegExp(`${accountId} {2}active {2}`, "u"));
  const [code, output] = await runKeep("account", "delete", accountId, "--confirm", "another name");
  expect([code, output]).toEqual([1, expect.stringContaining("repeat the account's display name")]);
  expect(await useToken()).toBe(200);
  const name = /--confirm "(?<name>[^"]+)"/u.exec(output)?.groups?.["name"] ?? "";
  expect((await runKeep("account", "delete", accountId, "--confirm", name))[0]).toBe(0);
  expect(await useToken()).toBe(401);
  expect(await runKeep("account", "show", accountId)).toEqual([1, expect.stringContaining("not found")]);
});

test("an account that does not exist, or was changed in the database, is reported", {
  timeout: 120_000,
}, async () => {
  expect(await runKeep("account", "suspend", generateId())).toEqual([
    1,
    expect.stringContaining("not found"),
  ]);
  expect(await runKeep("account", "suspend", "no-id")).toEqual([1, expect.stringContaining("not found")]);
  const { accountId } = await addMember();
  await runSql(`UPDATE account SET is_operator = true WHERE account_id = '${accountId}'`);
  expect(await runKeep("account", "suspend", accountId)).toEqual([
    1,
    expect.stringContaining("changed outside Keep"),
  ]);
});

test("the verification of the database reports an account that was put back after its suspension", {
  timeout: 120_000,
}, async () => {
  const { accountId } = await addMember();
  const tables = ["account", "api_token", "token_route", "identity"];
  for (const table of tables)
    await runSql(`CREATE TABLE old_${table} AS SELECT * FROM ${table} WHERE account_id = '${accountId}'`);
  expect((await runKeep("account", "suspend", accountId))[0]).toBe(0);
  await putBack("account", "status, epoch, mac");
  for (const table of tables.slice(1)) await putBack(table, "mac");
  const [code, output] = await runKeep("audit", "verify", "--database");
  expect([code, output]).toEqual([
    1,
    expect.stringContaining(`account ${accountId} was put back after it was suspended`),
  ]);
});
