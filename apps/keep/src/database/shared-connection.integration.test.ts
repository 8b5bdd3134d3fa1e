import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { type Database, openDatabase } from "./open-database.ts";

const empty = { name: "empty", prepare: () => Promise.resolve() };

async function currentAccount(database: Database, accountId: string): Promise<string | undefined> {
  const [row] = await database.queryInAccount<{ account: string }>(accountId, {
    name: "current-account",
    isShort: true,
    text: "SELECT current_setting('keep.account_id') AS account WHERE entered.account IS NOT NULL",
  });
  return row?.account;
}

test("concurrent statements on the shared connection each see only their own account, and leave no account set", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using database = await openDatabase({ url: testDatabase.url });
  const accounts = Array.from({ length: 200 }, generateId);
  expect(await Promise.all(accounts.map((id) => currentAccount(database, id)))).toEqual(accounts);
  const [left] = await database.query<{ account: string | null }>({
    isShort: true,
    text: "SELECT nullif(current_setting('keep.account_id', true), '') AS account",
  });
  expect(left).toEqual({ account: null });
});

test("a failed statement does not affect concurrent ones, and a broken connection is replaced", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using database = await openDatabase({ url: testDatabase.url });
  const account = generateId();
  const [failed, succeeded] = await Promise.allSettled([
    database.query({ isShort: true, text: "SELECT 1 / 0" }),
    currentAccount(database, account),
  ]);
  expect([failed.status, succeeded]).toEqual(["rejected", { status: "fulfilled", value: account }]);
  const superuser = new Client(testDatabase.url);
  await superuser.connect();
  await superuser.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await superuser.end();
  await currentAccount(database, account).catch(() => undefined);
  await expect.poll(() => currentAccount(database, account).catch(() => undefined)).toBe(account);
});
