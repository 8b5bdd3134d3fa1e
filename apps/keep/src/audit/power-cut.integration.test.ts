import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../test/open-vault.ts";

const cuts = chooseSize({ ci: 2, show: 4, nightly: 50 });
const readsEach = 150;
const readers = 16;
const minReads = 40;

/** Disables background writes, which would otherwise flush the WAL several times a second and hide a missing sync. */
const settings = { wal_writer_delay: "10s", autovacuum: "off" };

test("every returned value has its audit record after a power cut of the database", {
  timeout: 600_000,
}, async () => {
  await using postgres = await startPostgres({ durable: true, settings });
  await using database = await postgres.createDatabase();
  await using keep = await startUnlimitedKeep({ databaseUrl: database.url });
  await using vault = await openVault(keep);
  let totalReads = 0;
  for (let crash = 0; crash < cuts; crash += 1) {
    const ids = await addSecrets(vault, `/cut-${crash}`);
    const readIds = await readUntil(vault, ids, () => postgres.crash());
    await postgres.startAgain();
    await expect
      .poll(() => vault.request("GET", "/secrets").then(({ status }) => status), { timeout: 30_000 })
      .toBe(200);
    const recorded = await listRecordedReads(database.url);
    expect(readIds.filter((id) => !recorded.has(id))).toEqual([]);
    expect(readIds.length).toBeGreaterThanOrEqual(minReads);
    expect(readIds.length).toBeLessThan(ids.length);
    totalReads += readIds.length;
  }
  recordFigure({
    claim: "keep 7",
    text: `${cuts} power cuts of the database during reads: each of ${totalReads} returned values has its record`,
    counted: { reached: totalReads, needed: cuts * minReads },
  });
});

async function addSecrets(vault: OpenedVault, folder: string): Promise<readonly string[]> {
  const operations = Array.from({ length: readsEach }, (_, index) => ({
    op: "put",
    path: `${folder}/KEY_${index}`,
    value: "value",
  }));
  const [, { results }] = await vault.json("POST", "/batch", { operations });
  return results.map(({ secret }) => secret.id);
}

/** Reads each secret once, with several readers; crashes the database halfway. Returns the ids that were read. */
async function readUntil(
  vault: OpenedVault,
  ids: readonly string[],
  crash: () => Promise<void>,
): Promise<readonly string[]> {
  const remaining = [...ids];
  const readIds: string[] = [];
  let crashing: Promise<void> | undefined;
  const readAll = async (): Promise<void> => {
    for (let id = remaining.pop(); id !== undefined; id = remaining.pop()) {
      const response = await vault.request("GET", `/secrets/${id}/value`);
      if (response.status !== 200) continue;
      readIds.push(id);
      if (readIds.length >= ids.length / 2) crashing ??= crash();
    }
  };
  await Promise.all(Array.from({ length: readers }, readAll));
  await crashing;
  return readIds;
}

async function listRecordedReads(databaseUrl: string): Promise<ReadonlySet<string>> {
  const superuser = new Client(databaseUrl);
  await superuser.connect();
  try {
    const { rows } = await superuser.query<{ secret: string }>(
      "SELECT body::jsonb ->> 'secret' AS secret FROM audit_record WHERE body::jsonb ->> 'type' = 'value-read'",
    );
    return new Set(rows.map(({ secret }) => secret));
  } finally {
    await superuser.end();
  }
}
