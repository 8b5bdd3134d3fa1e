import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import type { Client } from "pg";
import { expect, test } from "vitest";
import { type Random, seededRandom } from "../test/seeded-random.ts";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";
import { type Cell, inSuperuser, makeCells, restoreCells } from "./test/tamper-fixtures.ts";
import { type CellCase, cellTampers } from "./test/secret-tampers.ts";

const needed = chooseSize({ ci: 200, show: 1000, nightly: 10_000 });
const kinds = Object.entries(cellTampers);

type Chosen = CellCase & { readonly kind: string; readonly cell: Cell };

function chooseCases(cells: readonly Cell[], done: number, random: Random): readonly Chosen[] {
  return cells.map((cell, index) => {
    const [kind, tamper] = kinds[(done + index) % kinds.length] ?? random.pick(kinds);
    return { kind, cell, ...tamper(cell, random) };
  });
}

/** Makes the node forget every data key, as after a start: otherwise it would not look at the wrapped ones. */
async function makeCold(keep: TestKeep, superuser: Client): Promise<void> {
  await superuser.query(
    "INSERT INTO revocation (kind, account_id, subject_id) SELECT 'vault', account_id, id FROM true_vault",
  );
  await superuser.query("NOTIFY keep_revocation");
  const remembered = async () =>
    /^keep_data_keys_remembered (?<count>\d+)$/mu.exec(await (await fetch(keep.metricsUrl)).text())?.groups?.[
      "count"
    ];
  await expect.poll(remembered, { interval: 5, timeout: 10_000 }).toBe("0");
}

/** Secrets that the audit log of each vault says were found broken. */
async function readReports(superuser: Client): Promise<ReadonlySet<string>> {
  const { rows } = await superuser.query<{ report: string }>(
    "SELECT chain_id || ' ' || (body::jsonb ->> 'secret') AS report FROM audit_event WHERE body::jsonb ->> 'type' = 'integrity-broken'",
  );
  return new Set(rows.map(({ report }) => report));
}

async function expectRefusals(keep: TestKeep, superuser: Client, chosen: readonly Chosen[]): Promise<void> {
  for (const { kind, cell, read } of chosen) {
    const answer = await keep.ask(`/api/secrets/vaults/${cell.vaultId}/${read}`, { token: cell.token });
    const problem = expect.objectContaining({ code: "integrity_error" });
    expect([kind, answer.status, await answer.json()]).toEqual([kind, 500, problem]);
  }
  const reports = await readReports(superuser);
  const unreported = chosen.filter(({ cell, broken }) => !reports.has(`${cell.vaultId} ${broken}`));
  expect(unreported.map(({ kind }) => kind)).toEqual([]);
  expect(reports.size).toBe(chosen.length);
}

async function expectTruth(keep: TestKeep, cell: Cell): Promise<void> {
  const values = `/api/secrets/vaults/${cell.vaultId}/secrets/${cell.secret}/value`;
  const read = async (query: string) => (await keep.ask(values + query, { token: cell.token })).json();
  expect([await read(""), await read("?version=2")]).toMatchObject([
    { value: cell.third },
    { value: cell.second },
  ]);
  const deleted = `/api/secrets/vaults/${cell.vaultId}/secrets/${cell.deleted}/value`;
  expect((await keep.ask(deleted, { token: cell.token })).status).toBe(404);
}

test("rows that a superuser moved, changed or put back are never read: each time an integrity failure and a record", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep({ settings: { readsPerMinute: "1000000" } });
  const cells = await makeCells(keep, 12);
  const [untouched, ...touched] = cells;
  const random = seededRandom(22);
  let refused = 0;
  await inSuperuser(keep.databaseUrl, async (superuser) => {
    await superuser.query("SET session_replication_role = replica");
    for (const cell of cells) await expectTruth(keep, cell);
    while (refused < needed) {
      const chosen = chooseCases(touched, refused, random);
      for (const { statements } of chosen)
        for (const statement of statements) await superuser.query(statement);
      await makeCold(keep, superuser);
      await expectRefusals(keep, superuser, chosen);
      if (untouched !== undefined) await expectTruth(keep, untouched);
      await restoreCells(superuser);
      refused += chosen.length;
    }
    await makeCold(keep, superuser);
    for (const cell of cells) await expectTruth(keep, cell);
  });
  expect(refused).toBeGreaterThanOrEqual(needed);
  recordFigure({
    claim: "keep 6",
    text: `${refused} of ${refused} rows tampered with in ${kinds.length} ways refused and recorded; true values before and after`,
    counted: { reached: refused, needed },
  });
});

test("a node that starts on tampered rows refuses each of them", { timeout: 300_000 }, async () => {
  await using keep = await startTestKeep({ settings: { readsPerMinute: "1000000" } });
  const [untouched, ...touched] = await makeCells(keep, 6);
  await inSuperuser(keep.databaseUrl, async (superuser) => {
    await superuser.query("SET session_replication_role = replica");
    const chosen = chooseCases(touched, 9, seededRandom(1));
    for (const { statements } of chosen) for (const statement of statements) await superuser.query(statement);
    await using fresh = await startTestKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
    await expectRefusals(fresh, superuser, chosen);
    expect(chosen).toHaveLength(5);
    if (untouched !== undefined) await expectTruth(fresh, untouched);
  });
});
