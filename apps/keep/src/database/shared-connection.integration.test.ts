import { acquireDatabase } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { generateId } from "../generate-id.ts";
import { openDatabase } from "./open-database.ts";
import { openPool } from "./open-pool.ts";
import { type SharedConnection, shareConnection } from "./shared-connection.ts";
import { scopeToAccount } from "./transaction.ts";

const empty = { name: "empty", prepare: () => Promise.resolve() };

/** A shared connection to a database with Keep's roles. */
async function openShared(url: string): Promise<SharedConnection> {
  await (await openDatabase({ url }))[Symbol.asyncDispose]();
  await using cleanup = new AsyncDisposableStack();
  const pool = cleanup.adopt(openPool(url, { max: 1, role: "keep_application" }), (opened) => opened.end());
  const shared = cleanup.use(shareConnection(pool));
  const owned = cleanup.move();
  return {
    query: (statement) => shared.query(statement),
    queryInAccount: (accountId, statement) => shared.queryInAccount(accountId, statement),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function currentAccount(shared: SharedConnection, accountId: string): Promise<string | undefined> {
  const { rows } = await shared.query<{ account: string }>(
    scopeToAccount(accountId, {
      name: "current-account",
      text: "SELECT current_setting('keep.account_id') AS account WHERE entered.account IS NOT NULL",
    }),
  );
  return rows[0]?.account;
}

test("concurrent statements on the shared connection each see only their own account, and leave no account set", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using shared = await openShared(testDatabase.url);
  const accounts = Array.from({ length: 200 }, generateId);
  expect(await Promise.all(accounts.map((id) => currentAccount(shared, id)))).toEqual(accounts);
  const { rows } = await shared.query<{ account: string | null }>({
    text: "SELECT nullif(current_setting('keep.account_id', true), '') AS account",
  });
  expect(rows).toEqual([{ account: null }]);
});

test("a failed statement does not affect concurrent ones, and a broken connection is replaced", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using shared = await openShared(testDatabase.url);
  const account = generateId();
  const [failed, succeeded] = await Promise.allSettled([
    shared.query({ text: "SELECT 1 / 0" }),
    currentAccount(shared, account),
  ]);
  expect([failed.status, succeeded]).toEqual(["rejected", { status: "fulfilled", value: account }]);
  const superuser = new Client(testDatabase.url);
  await superuser.connect();
  await superuser.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await superuser.end();
  await currentAccount(shared, account).catch(() => undefined);
  await expect.poll(() => currentAccount(shared, account).catch(() => undefined)).toBe(account);
});

type Divided = { readonly value: number; readonly account: string; readonly quotient: number };

/** A statement that names its account, and fails for a divisor of 0. */
function divide(shared: SharedConnection, accountId: string, [value, divisor]: readonly [number, number]) {
  return shared.queryInAccount<Divided>(accountId, {
    name: "divide",
    text: "SELECT $2::integer AS value, current_setting('keep.account_id') AS account, 100 / $3 AS quotient WHERE entered.account IS NOT NULL AND $2 <> 7",
    valueTypes: ["integer", "integer"],
    values: [value, divisor],
  });
}

test("statements of one turn run as one for each account, give each caller its own rows, and fail alone", async () => {
  await using testDatabase = await acquireDatabase(empty);
  await using shared = await openShared(testDatabase.url);
  const accounts = [generateId(), generateId()];
  const calls = accounts.flatMap((account) =>
    Array.from({ length: 90 }, (_, index) => ({ account, value: index, divisor: 1 + (index % 5) })),
  );
  const results = await Promise.all(
    calls.map(({ account, value, divisor }) => divide(shared, account, [value, divisor])),
  );
  const expected = calls.map(({ account, value, divisor }) =>
    value === 7 ? [] : [{ value, account, quotient: Math.floor(100 / divisor) }],
  );
  expect(
    results.map((rows) => rows.map(({ value, account, quotient }) => ({ value, account, quotient }))),
  ).toEqual(expected);
  const [account = ""] = accounts;
  const settled = await Promise.allSettled([
    divide(shared, account, [1, 1]),
    divide(shared, account, [2, 0]),
    divide(shared, account, [3, 2]),
  ]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});
