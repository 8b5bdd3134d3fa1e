import { afterAll, beforeAll, expect, test } from "vitest";
import { asSuperuser } from "../keys/test/tamper-fixtures.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
});
afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
});

type Write = {
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
};

async function send(
  vault: OpenedVault,
  { path, body = { value: "x" }, headers = {} }: Write,
): Promise<number> {
  return (await vault.request("PUT", `/secrets/by-path${path}`, { body, headers })).status;
}

/** Transactions that changed the vault, and its secrets' revisions as stored and as recorded. */
async function readHistory({ person: { vaultId } }: OpenedVault) {
  return asSuperuser(keep.databaseUrl, async (superuser) => {
    const { rows } = await superuser.query<{ transactions: number; recorded: number[] }>(
      "SELECT count(DISTINCT xmin::text)::integer AS transactions, array_agg(revision::integer ORDER BY revision) AS recorded FROM audit_record WHERE stream_id = $1 AND revision IS NOT NULL",
      [vaultId],
    );
    const { rows: vault } = await superuser.query<{ revision: number; live_secrets: number }>(
      "SELECT revision::integer, live_secrets FROM vault WHERE id = $1",
      [vaultId],
    );
    return { ...rows[0], ...vault[0] };
  });
}

test("writes to one vault that arrive together share transactions, and each succeeds or fails alone", async () => {
  const vault = await openVault(keep);
  await vault.write("/EXISTING", "first");
  const writes: readonly Write[] = Array.from({ length: 20 }, (_, index) => [
    { path: `/NEW${index}`, status: 201 },
    { path: "/EXISTING", status: 200 },
    { path: `/STALE${index}`, headers: { "if-match": '"1"' }, status: 412 },
    { path: `/INVALID${index}`, body: { value: "{", type: "json" }, status: 422 },
    { path: `/KEYED${index}`, headers: { "idempotency-key": `key ${index}` }, status: 201 },
  ]).flat();
  const statuses = await Promise.all(writes.map((write) => send(vault, write)));
  expect(statuses).toEqual(writes.map(({ status }) => status));
  const { transactions = 0, recorded, revision, live_secrets } = await readHistory(vault);
  expect(transactions).toBeLessThan(61);
  // One revision and one record for each of the 61 writes that succeeded.
  expect(recorded).toEqual(Array.from({ length: 61 }, (_, index) => index + 1));
  expect([revision, live_secrets]).toEqual([61, 41]);
});

test("without failures, writes to one vault share a few transactions", async () => {
  const vault = await openVault(keep);
  const writes = Array.from({ length: 100 }, (_, index) => ({ path: `/S${index % 30}`, status: 0 }));
  const statuses = await Promise.all(writes.map((write) => send(vault, write)));
  expect(statuses.filter((status) => status === 201)).toHaveLength(30);
  expect(statuses.filter((status) => status === 200)).toHaveLength(70);
  const { transactions = 0, recorded, revision } = await readHistory(vault);
  expect(transactions).toBeLessThan(30);
  expect([recorded?.length, revision]).toEqual([100, 100]);
});

test("a repeated Idempotency-Key within one transaction takes effect once", async () => {
  const vault = await openVault(keep);
  const write = { path: "/ONCE", headers: { "idempotency-key": "same" }, status: 201 };
  const others = Array.from({ length: 10 }, (_, index) => ({ path: `/OTHER${index}`, status: 201 }));
  const statuses = await Promise.all([write, ...others, write, write].map((each) => send(vault, each)));
  expect(new Set(statuses)).toEqual(new Set([201]));
  expect((await readHistory(vault)).revision).toBe(11);
});

test("more changes than may wait for one vault are rejected, and those that wait succeed", async () => {
  const vault = await openVault(keep);
  const writes = Array.from({ length: 600 }, (_, index) => ({ path: `/S${index}`, status: 0 }));
  const statuses = await Promise.all(writes.map((write) => send(vault, write)));
  const accepted = statuses.filter((status) => status === 201).length;
  expect(new Set(statuses).difference(new Set([201, 429, 503]))).toEqual(new Set());
  expect(accepted).toBeGreaterThanOrEqual(256);
  expect((await readHistory(vault)).revision).toBe(accepted);
});
