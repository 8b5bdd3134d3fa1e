import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import {
  addOtherAccounts,
  addSecrets,
  type KeepFixture,
  type Load,
  load,
  startKeepFixture,
} from "./keep-fixture.ts";
import { median, sized, upperBound } from "./rounds.ts";

/** The number of secrets and of tokens. */
const many = chooseSize({ ci: 10_000, show: 100_000, nightly: 1_000_000 });
/**
 * Each with one secret and one token, as most people have: PostgreSQL then expects a lookup in any vault to find one row
 * by every index that begins with the vault.
 */
const accounts = many;
const real = 1000;
const rounds = sized(5, 1);
/** Far below the thousand secrets of a vault, which a plan that scans the whole vault would read. */
const maxEntries = 30;
/**
 * At the size of CI the vault holds a tenth of all secrets, so that PostgreSQL now and then scans for the few that a key
 * rotation has left. A scan per read, or per secret, would be a thousand.
 */
const maxScans = sized(0, 10);

/** Alternates the same requests between a database with one account and one with very many. */
test("checking a token and reading a value is as fast among very many as among few, and only uses indexes", {
  timeout: scale === "nightly" ? 3_600_000 : 600_000,
}, async () => {
  await using small = await startKeepFixture();
  await using large = await startKeepFixture();
  const fewIds = await addSecrets(small, real);
  const manyIds = await addSecrets(large, real);
  await addOtherAccounts(large, accounts, 1);
  await addTokens(large);
  await measureReads(large, manyIds);
  const before = await countWork(large);
  const ratios: number[] = [];
  let responses = 0;
  for (let round = 0; round < rounds; round += 1) {
    const few = await measureReads(small, fewIds);
    const all = await measureReads(large, manyIds);
    responses += all.answers;
    ratios.push(all.p99 / few.p99);
  }
  const after = await countWork(large);
  await rotateKey(large);
  const scans = (await countWork(large)).scans - before.scans;
  const entries = (after.entries - before.entries) / responses;
  const ratio = median(ratios);
  const text = `${many} tokens and ${many} secrets: p99 of a read, including the token check, ${ratio.toFixed(2)} of the small database, needed at most 1.5; ${scans} sequential scans, a key rotation included, ${entries.toFixed(1)} index entries per read (at most ${maxEntries})`;
  recordFigure({
    claim: "keep 13",
    text,
    counted: { reached: many, needed: many },
  });
  expect(scans, text).toBeLessThanOrEqual(maxScans);
  expect(entries, describeGrowth(before.indexes, after.indexes)).toBeLessThanOrEqual(maxEntries);
  expect(ratio).toBeLessThanOrEqual(upperBound(1.5));
});

function measureReads({ url, owner }: KeepFixture, ids: readonly string[]): Promise<Load> {
  const vault = `/api/secrets/vaults/${owner.vaultId}`;
  const paths = ids.flatMap((id, index) => [
    `${vault}/secrets/${id}/value`,
    `${vault}/values/by-path/bench/secret-${index}`,
  ]);
  return load(url, { paths, token: owner.token, connections: 4, seconds: 2 });
}

/** Re-encrypts the thousand secrets of the owner's vault. */
async function rotateKey({ request, owner }: KeepFixture): Promise<void> {
  const { operation } = await request<{ operation: { id: string } }>(
    `/api/secrets/vaults/${owner.vaultId}/rotate-key`,
    { method: "POST" },
  );
  await expect
    .poll(() => request(`/api/secrets/operations/${operation.id}`), { timeout: 60_000, interval: 200 })
    .toMatchObject({ state: "done" });
}

async function addTokens({ run, owner }: KeepFixture): Promise<void> {
  await run(
    "INSERT INTO api_token (account_id, id, name, token_hash, scopes, created_by) SELECT account_id, gen_random_uuid(), 'token', sha256(convert_to(account_id::text, 'UTF8')), '{secrets:read}', 'server' FROM account WHERE account_id <> $1",
    [owner.accountId],
  );
  await run(
    "INSERT INTO token_route (token_hash, account_id, token_id) SELECT token_hash, account_id, id FROM api_token WHERE account_id <> $1",
    [owner.accountId],
  );
  await run("ANALYZE");
}

type Work = {
  readonly scans: number;
  readonly entries: number;
  /** Entries read by index. */
  readonly indexes: Readonly<Record<string, number>>;
};

/** Sequential scans of the large tables and index entries read, from the database's own statistics. */
async function countWork({ run }: KeepFixture): Promise<Work> {
  // Connections publish their statistics once they have been idle for a moment.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  // This connection's own statistics, from filling the tables, are published by the next query.
  await run("SELECT pg_stat_force_next_flush()");
  const tables = "relname IN ('secret', 'secret_version', 'api_token', 'token_route', 'vault', 'vault_key')";
  const [row] = await run(`SELECT sum(seq_scan)::int AS scans FROM pg_stat_user_tables WHERE ${tables}`);
  const rows = await run(
    `SELECT indexrelname AS name, idx_tup_read::float8 AS entries FROM pg_stat_user_indexes WHERE ${tables}`,
  );
  const indexes = Object.fromEntries(rows.map(({ name, entries }) => [String(name), Number(entries)]));
  const entries = Object.values(indexes).reduce((sum, each) => sum + each, 0);
  return { scans: Number(row?.["scans"]), entries, indexes };
}

/** Which indexes were read most, to find the plan that did it. */
function describeGrowth(before: Work["indexes"], after: Work["indexes"]): string {
  return Object.entries(after)
    .map(([name, entries]) => [name, entries - (before[name] ?? 0)] as const)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 4)
    .map(([name, entries]) => `${name}: ${entries}`)
    .join(", ");
}
