import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { verifyArchives } from "../../commands/verify-archives.ts";
import { verifyDatabase } from "../../commands/verify-audit.ts";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import { seededRandom } from "../../test/seeded-random.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { addPeople, archive, findingsOf, keysOf, readArchives } from "../test/archived-keep.ts";
import { recordPastYear, runAsSuperuser } from "../test/past-year.ts";
import { verifyArchive } from "./verify-archive.ts";

const recordsPerMonth = 24;
const flippedAtStart = 600;
const flippedBytes = chooseSize({ ci: 400, show: 2000, nightly: 20_000 });

/** Each changes what is kept; the finding names it. */
const tampers: Readonly<Record<string, readonly [statement: string, finding: RegExp]>> = {
  "a kept record is removed": [
    "DELETE FROM audit_record WHERE number = (SELECT min(number) FROM audit_record)",
    /record \d+\/\d+ was removed/u,
  ],
  "a kept record is changed": [
    "UPDATE audit_record SET outcome = 'denied' WHERE number = (SELECT min(number) FROM audit_record)",
    /record \d+\/\d+ does not match its leaf/u,
  ],
  "the kept part begins later": [
    "UPDATE audit_log SET first_kept_index = first_kept_index + 1 WHERE first_kept_index > 0",
    /after \d+ archived records, but \d+ were archived/u,
  ],
  "the kept part begins earlier": [
    "UPDATE audit_log SET first_kept_index = first_kept_index - 1 WHERE first_kept_index > 0",
    /was removed/u,
  ],
  "the hashes of the archived part are changed": [
    "UPDATE audit_log SET edge[1] = set_byte(edge[1], 0, get_byte(edge[1], 0) # 1) WHERE first_kept_index > 0",
    /are not those that a checkpoint signed/u,
  ],
  "the hashes of the archived part are removed": [
    "UPDATE audit_log SET edge = edge[2:] WHERE first_kept_index > 0",
    /the hashes of the first \d+ records, which are archived, are missing/u,
  ],
  "the batch in which the kept part begins is removed": [
    "DELETE FROM audit_batch WHERE (log_id, first_index) IN (SELECT log_id, min(first_index) FROM audit_batch WHERE log_id IN (SELECT id FROM audit_log WHERE first_kept_index > 0) GROUP BY log_id)",
    /its size says \d+ records, but \d+ are stored/u,
  ],
  "a batch is inserted": [
    "INSERT INTO audit_batch SELECT log_id, first_index + 30, at, note, numbers, previous, writers FROM audit_batch WHERE log_id IN (SELECT id FROM audit_log WHERE first_kept_index > 0)",
    /the batch at index \d+ was added/u,
  ],
  "a stream gets records": [
    "UPDATE audit_stream SET records = records + 1 WHERE log_id IN (SELECT id FROM audit_log WHERE first_kept_index > 0)",
    /the end of stream .* was changed/u,
  ],
};

const tables = ["audit_record", "audit_log", "audit_batch", "audit_tile", "audit_stream", "audit_archive"];
const replica = "SET session_replication_role = replica";

async function restoreTables(keep: TestKeep): Promise<void> {
  const statements = tables.flatMap((table) => [
    `DELETE FROM ${table}`,
    `INSERT INTO ${table} TABLE saved_${table}`,
  ]);
  await runAsSuperuser(keep, [replica, ...statements]);
}

async function findTampers(keep: TestKeep): Promise<void> {
  await runAsSuperuser(
    keep,
    tables.map((table) => `CREATE TABLE saved_${table} AS TABLE ${table}`),
  );
  for (const [kind, [statement, finding]] of Object.entries(tampers)) {
    expect([kind, await findingsOf(keep)]).toEqual([kind, []]);
    await runAsSuperuser(keep, [replica, statement]);
    expect([kind, (await findingsOf(keep)).join("\n")]).toEqual([kind, expect.stringMatching(finding)]);
    await restoreTables(keep);
  }
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.replace(/\n$/u, "").split("\n");
}

async function findFlippedBytes(keep: TestKeep, texts: readonly string[]): Promise<void> {
  const random = seededRandom(10);
  const trust = { keys: keysOf(keep) };
  for (const text of texts)
    expect(await verifyArchive(linesOf(text), trust)).toMatchObject({ isValid: true });
  for (let flip = 0; flip < flippedBytes; flip += 1) {
    const bytes = Buffer.from(random.pick(texts));
    // Every other one near the beginning, where keys, month and the hashes before the first record are.
    const at = random.between(0, flip % 2 === 0 ? flippedAtStart : bytes.length - 2);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.between(0, 6));
    const result = await verifyArchive(linesOf(bytes.toString()), trust);
    expect([at, result]).toEqual([at, expect.objectContaining({ isValid: false })]);
  }
}

test("a change to what is kept, or to an archive, is found", { timeout: 300_000 }, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  const { months } = await recordPastYear(keep, await addPeople(keep, 2), recordsPerMonth);
  const [code] = await archive(keep, { before: months.at(-1)?.name ?? "", folder: folder.path });
  expect(code).toBe(0);
  await findTampers(keep);
  const archives = await readArchives(folder.path);
  await findFlippedBytes(keep, [...archives.values()]);

  const files = [...archives.keys()].map((name) => join(folder.path, name));
  const printed: string[] = [];
  const print = (line: string): void => void printed.push(line);
  expect(await verifyArchives(files.toReversed(), {}, print)).toBe(0);
  expect(await verifyArchives(files.slice(0, 3).toSpliced(1, 1), {}, print)).toBe(1);
  expect(printed.at(-2)).toMatch(/^Log .*: records \d+ to \d+ are in none of the archives$/u);
  const verifyBoth = (archiveFiles: readonly string[]) =>
    verifyDatabase({ archiveFiles }, { database: keep.database, print });
  expect(await verifyBoth(files)).toBe(0);
  expect(await verifyBoth(files.slice(0, -1))).toBe(1);
  // Whoever owns the database can say that more is archived; the files show what.
  await runAsSuperuser(keep, [
    "UPDATE audit_log SET first_kept_index = first_kept_index + 1 WHERE first_kept_index > 0",
    "UPDATE audit_archive SET records = records + 2 WHERE month = (SELECT max(month) FROM audit_archive)",
  ]);
  expect(await verifyBoth(files)).toBe(1);
  expect(printed.join("\n")).toMatch(/its archive files end after \d+ records, but \d+ are archived/u);
  const kinds = Object.keys(tampers).length;
  recordFigure({
    claim: "seal 10",
    text: `${flippedBytes} archives with a flipped byte and ${kinds} kinds of changes to what is kept: all found`,
    counted: { reached: flippedBytes + kinds, needed: flippedBytes + kinds },
  });
});
