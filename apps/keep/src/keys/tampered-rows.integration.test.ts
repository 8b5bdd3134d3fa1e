import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import type { Client } from "pg";
import { expect, test } from "vitest";
import { type Random, seededRandom } from "../test/seeded-random.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { secretTampers, type TamperCase } from "./test/secret-tampers.ts";
import {
  asSuperuser,
  createTamperFixtures,
  restoreTables,
  type TamperFixture,
} from "./test/tamper-fixtures.ts";

const needed = chooseSize({ ci: 200, show: 1000, nightly: 10_000 });
const kinds = Object.entries(secretTampers);

type ChosenTamper = TamperCase & { readonly kind: string; readonly fixture: TamperFixture };

function chooseCases(
  fixtures: readonly TamperFixture[],
  done: number,
  random: Random,
): readonly ChosenTamper[] {
  return fixtures.map((fixture, index) => {
    const [kind, tamper] = kinds[(done + index) % kinds.length] ?? random.pick(kinds);
    return { kind, fixture, ...tamper(fixture, random) };
  });
}

/** Evicts all cached data keys, so that the node reads the wrapped ones from the database again. */
async function evictDataKeys(keep: TestKeep, superuser: Client): Promise<void> {
  await superuser.query(
    "INSERT INTO revocation (kind, account_id, subject_id) SELECT 'vault', account_id, id FROM true_vault",
  );
  await superuser.query("NOTIFY keep_revocation");
  const cachedKeys = async () =>
    /^keep_data_keys_cached (?<count>\d+)$/mu.exec(await (await fetch(keep.metricsUrl)).text())?.groups?.[
      "count"
    ];
  await expect.poll(cachedKeys, { interval: 5, timeout: 10_000 }).toBe("0");
}

/** Vault and secret of each integrity error in the audit log. */
async function readReports(superuser: Client): Promise<ReadonlySet<string>> {
  const { rows } = await superuser.query<{ report: string }>(
    "SELECT stream_id || ' ' || (body::jsonb ->> 'secret') AS report FROM audit_record WHERE body::jsonb ->> 'type' = 'integrity-broken'",
  );
  return new Set(rows.map(({ report }) => report));
}

async function expectRefusals(
  keep: TestKeep,
  superuser: Client,
  chosen: readonly ChosenTamper[],
): Promise<void> {
  for (const { kind, fixture, readPath } of chosen) {
    const response = await keep.request(`/api/secrets/vaults/${fixture.vaultId}/${readPath}`, {
      token: fixture.token,
    });
    const problem = expect.objectContaining({ code: "integrity_error" });
    expect([kind, response.status, await response.json()]).toEqual([kind, 500, problem]);
  }
  const reports = await readReports(superuser);
  const unreported = chosen.filter(
    ({ fixture, brokenSecret }) => !reports.has(`${fixture.vaultId} ${brokenSecret}`),
  );
  expect(unreported.map(({ kind }) => kind)).toEqual([]);
  expect(reports.size).toBe(chosen.length);
}

async function expectOriginalValues(keep: TestKeep, fixture: TamperFixture): Promise<void> {
  const values = `/api/secrets/vaults/${fixture.vaultId}/secrets/${fixture.secret}/value`;
  const read = async (query: string) => (await keep.request(values + query, { token: fixture.token })).json();
  expect([await read(""), await read("?version=2")]).toMatchObject([
    { value: fixture.third },
    { value: fixture.second },
  ]);
  const deleted = `/api/secrets/vaults/${fixture.vaultId}/secrets/${fixture.deleted}/value`;
  expect((await keep.request(deleted, { token: fixture.token })).status).toBe(404);
}

test("rows moved, changed or rolled back by a superuser always give an integrity error and an audit record", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep({ settings: { readsPerMinute: "1000000" } });
  const fixtures = await createTamperFixtures(keep, 12);
  const [untouched, ...touched] = fixtures;
  const random = seededRandom(22);
  let detected = 0;
  await asSuperuser(keep.databaseUrl, async (superuser) => {
    await superuser.query("SET session_replication_role = replica");
    // The constraint rejects a change of the first byte, and a superuser can drop it.
    await superuser.query("ALTER TABLE secret_version DROP CONSTRAINT secret_version_is_encrypted");
    for (const fixture of fixtures) await expectOriginalValues(keep, fixture);
    while (detected < needed) {
      const chosen = chooseCases(touched, detected, random);
      for (const { statements } of chosen)
        for (const statement of statements) await superuser.query(statement);
      await evictDataKeys(keep, superuser);
      await expectRefusals(keep, superuser, chosen);
      if (untouched !== undefined) await expectOriginalValues(keep, untouched);
      await restoreTables(superuser);
      detected += chosen.length;
    }
    await evictDataKeys(keep, superuser);
    for (const fixture of fixtures) await expectOriginalValues(keep, fixture);
  });
  expect(detected).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "keep 6",
    text: `${detected} of ${detected} rows tampered with in ${kinds.length} ways detected and recorded; original values before and after`,
    counted: { reached: detected, needed },
  });
});

test("a node started on tampered rows detects each of them", { timeout: 300_000 }, async () => {
  await using keep = await startTestKeep({ settings: { readsPerMinute: "1000000" } });
  const [untouched, ...touched] = await createTamperFixtures(keep, 6);
  await asSuperuser(keep.databaseUrl, async (superuser) => {
    await superuser.query("SET session_replication_role = replica");
    const chosen = chooseCases(touched, 9, seededRandom(1));
    for (const { statements } of chosen) for (const statement of statements) await superuser.query(statement);
    await using fresh = await startTestKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
    await expectRefusals(fresh, superuser, chosen);
    expect(chosen).toHaveLength(5);
    if (untouched !== undefined) await expectOriginalValues(fresh, untouched);
  });
});
