import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { startPostgres } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { type OpenedVault, openVault, startPatientKeep } from "../test/open-vault.ts";

const cuts = chooseSize({ ci: 2, show: 4, nightly: 50 });
const readsEach = 150;
const readers = 16;
const fewestAnswered = 40;

/** Nothing but what is asked for goes to the disk: the database would otherwise tidy up five times a second. */
const settings = { wal_writer_delay: "10s", autovacuum: "off" };

test("a value that left has its record also after a power cut of the database", {
  timeout: 600_000,
}, async () => {
  await using postgres = await startPostgres({ durable: true, settings });
  await using database = await postgres.createDatabase();
  await using keep = await startPatientKeep({ databaseUrl: database.url });
  await using vault = await openVault(keep);
  let answered = 0;
  for (let cut = 0; cut < cuts; cut += 1) {
    const ids = await addSecrets(vault, `/cut-${cut}`);
    const told = await readUntil(vault, ids, () => postgres.crash());
    await postgres.startAgain();
    await expect
      .poll(() => vault.ask("GET", "/secrets").then(({ status }) => status), { timeout: 30_000 })
      .toBe(200);
    const recorded = await recordedReads(database.url);
    expect(told.filter((id) => !recorded.has(id))).toEqual([]);
    expect(told.length).toBeGreaterThanOrEqual(fewestAnswered);
    expect(told.length).toBeLessThan(ids.length);
    answered += told.length;
  }
  recordFigure({
    claim: "keep 7",
    text: `${cuts} power cuts of the database while values were read: each of ${answered} that left has its record`,
    counted: { reached: answered, needed: cuts * fewestAnswered },
  });
});

async function addSecrets(vault: OpenedVault, folder: string): Promise<readonly string[]> {
  const operations = Array.from({ length: readsEach }, (_, place) => ({
    op: "put",
    path: `${folder}/KEY_${place}`,
    value: "value",
  }));
  const [, { results }] = await vault.json("POST", "/batch", { operations });
  return results.map(({ secret }) => secret.id);
}

/** Each is read once, by several readers; half of the way through the power is cut. Gives those whose value came. */
async function readUntil(
  vault: OpenedVault,
  ids: readonly string[],
  cut: () => Promise<void>,
): Promise<readonly string[]> {
  const left = [...ids];
  const told: string[] = [];
  let ended: Promise<void> | undefined;
  const readOn = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const response = await vault.ask("GET", `/secrets/${id}/value`);
      if (response.status !== 200) continue;
      told.push(id);
      if (told.length >= ids.length / 2) ended ??= cut();
    }
  };
  await Promise.all(Array.from({ length: readers }, readOn));
  await ended;
  return told;
}

async function recordedReads(databaseUrl: string): Promise<ReadonlySet<string>> {
  const superuser = new Client(databaseUrl);
  await superuser.connect();
  try {
    const { rows } = await superuser.query<{ secret: string }>(
      "SELECT body::jsonb ->> 'secret' AS secret FROM audit_event WHERE body::jsonb ->> 'type' = 'value-read'",
    );
    return new Set(rows.map(({ secret }) => secret));
  } finally {
    await superuser.end();
  }
}
