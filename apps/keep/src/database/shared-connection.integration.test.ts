import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { type Database, openDatabase } from "./open-database.ts";

const empty = { name: "empty", prepare: () => Promise.resolve() };

async function whoAmI(database: Database, accountId: string): Promise<string | undefined> {
  const [row] = await database.askInAccount<{ account: string }>(accountId, {
    name: "who-am-i",
    isShort: true,
    text: "SELECT current_setting('keep.account_id') AS account WHERE entered.account IS NOT NULL",
  });
  return row?.account;
}

test("statements of many accounts that share a connection at once each see their own account, and leave none behind", async () => {
  await using lent = await acquireDatabase(empty);
  await using database = await openDatabase({ url: lent.url });
  const accounts = Array.from({ length: 200 }, generateId);
  expect(await Promise.all(accounts.map((id) => whoAmI(database, id)))).toEqual(accounts);
  const [left] = await database.ask<{ account: string | null }>({
    isShort: true,
    text: "SELECT nullif(current_setting('keep.account_id', true), '') AS account",
  });
  expect(left).toEqual({ account: null });
});

test("a statement that fails takes none of those beside it along, and a connection that breaks is replaced", async () => {
  await using lent = await acquireDatabase(empty);
  await using database = await openDatabase({ url: lent.url });
  const account = generateId();
  const [failed, fine] = await Promise.allSettled([
    database.ask({ isShort: true, text: "SELECT 1 / 0" }),
    whoAmI(database, account),
  ]);
  expect([failed.status, fine]).toEqual(["rejected", { status: "fulfilled", value: account }]);
  const superuser = new Client(lent.url);
  await superuser.connect();
  await superuser.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await superuser.end();
  await whoAmI(database, account).catch(() => undefined);
  await expect.poll(() => whoAmI(database, account).catch(() => undefined)).toBe(account);
});
