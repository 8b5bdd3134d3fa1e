import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { Client } from "pg";
import { expect, test } from "vitest";
import { startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { createAuditLog } from "../audit-log.ts";
import { type ArchiveAttempt, addPeople, archive, findingsOf, listStored } from "../test/archived-keep.ts";
import { recordPastYear, runAsSuperuser, setNextName } from "../test/past-year.ts";

const recordsPerMonth = 24;
/** The command gives up waiting for other transactions after half a second, and tries again. */
const maxDelayMilliseconds = hasLooseTimingBounds ? 8000 : 800;
const observedMilliseconds = 1600;

/** What an owner of the database can do to a month, and why it then stays. */
const changes: readonly (readonly [statement: (partition: string) => string, reason: RegExp])[] = [
  [
    (partition) =>
      `INSERT INTO ${partition} SELECT stream_id, number + 7, log_id, account_id, outcome, subject_id, revision, body, body_hash, mac FROM saved LIMIT 1`,
    /^1 of its records are in no log; run "keep audit verify --database", which names them$/u,
  ],
  [
    (partition) =>
      `UPDATE ${partition} SET body = replace(body, '127.0.0.1', '127.0.0.2') WHERE number = (SELECT min(number) FROM saved)`,
    /^its records are not as they were signed: records 0 to 59 of past\/audit\/\d+ are not those that a checkpoint signed; run /u,
  ],
  [
    (partition) => `DELETE FROM ${partition} WHERE number = (SELECT max(number) FROM saved)`,
    /^log past\/audit\/\d+ is not complete in the database; run "keep audit verify --database", which /u,
  ],
];

async function refuseChangedMonths(keep: TestKeep, month: string, attempt: ArchiveAttempt): Promise<void> {
  const partition = `audit_record_${month.replace("-", "_")}`;
  await runAsSuperuser(keep, [`CREATE TABLE saved AS TABLE ${partition}`]);
  for (const [statement, reason] of changes) {
    await runAsSuperuser(keep, [statement(partition)]);
    const [code, line = ""] = await archive(keep, attempt);
    const start = `Cannot archive: ${month} is not archived yet: `;
    expect([code, line.slice(0, start.length)]).toEqual([1, start]);
    expect(line.slice(start.length)).toMatch(reason);
    expect(await readdir(attempt.folder)).toEqual([]);
    await runAsSuperuser(keep, [`DELETE FROM ${partition}`, `INSERT INTO ${partition} TABLE saved`]);
  }
}

test("a month stays in the database unless its file can be written and is complete", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  const { months } = await recordPastYear(keep, await addPeople(keep, 1), recordsPerMonth);
  const [oldest = "", second = ""] = months.map(({ name }) => name);
  const latest = months.at(-1)?.name ?? "";
  const stored = await listStored(keep);
  const attempt = { before: second, folder: folder.path };
  const refuse = async (changed: Partial<ArchiveAttempt>, reason: string): Promise<void> => {
    expect(await archive(keep, { ...attempt, ...changed })).toEqual([1, `Cannot archive: ${reason}`]);
    expect(await readdir(folder.path)).toEqual([]);
  };
  const current = new Date().toISOString().slice(0, 7);
  await refuse(
    { before: current },
    `the current and the previous month are kept; name a month up to ${latest}`,
  );
  await refuse({ before: "2026-13" }, '"2026-13" is not a month such as 2026-01');
  const notYet = `${oldest} is not archived yet: `;
  await refuse({ folder: join(folder.path, "missing") }, `${notYet}the folder does not exist`);
  await refuse({ freeBytes: 1000 }, `${notYet}the folder has 0 MiB of free space, and the file may need 1`);
  await refuseChangedMonths(keep, oldest, attempt);

  const name = `audit-${oldest}.ndjson`;
  const file = join(folder.path, name);
  await writeFile(file, "of another time");
  const already = `the file "${name}" is already in the folder; move it away, or archive to another folder`;
  expect(await archive(keep, attempt)).toEqual([1, `Cannot archive: ${notYet}${already}`]);
  expect(await readFile(file, "utf8")).toBe("of another time");
  await rm(file);

  expect((await listStored(keep)).toSorted()).toEqual(stored.toSorted());
  expect(await findingsOf(keep)).toEqual([]);
  expect(await archive(keep, attempt)).toEqual([0, expect.stringContaining(`Archived ${oldest}: `)]);
  const reasons = 5 + changes.length;
  recordFigure({ claim: "seal 10", text: `${reasons} reasons not to archive a month: refused` });
});

test("a record that became a leaf much later keeps its month in the database", {
  timeout: 300_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  const people = await addPeople(keep, 1);
  const { months } = await recordPastYear(keep, people, recordsPerMonth);
  const { nodeLog, serverKeys, database } = keep.services;
  const { committed } = nodeLog;
  const numbering = { ...nodeLog.numbering };
  setNextName(numbering, { log: numbering.log, number: (months[0]?.start ?? 0) + 5 });
  const { rowMacs } = serverKeys;
  const audit = createAuditLog({ database, rowMacs, nodeLog: { numbering, committed } });
  for (const { accountId } of people)
    await audit.recordRead({ accountId, by: "server", event: { type: "account-created" } });
  await nodeLog.append();
  const today = new Date().toISOString().slice(0, 10);
  const [code, line] = await archive(keep, { before: months[1]?.name ?? "", folder: folder.path });
  expect([code, line?.replace(/^.*: log test\/audit\/\d+ /u, "")]).toEqual([
    1,
    `has one of its records only after one of ${today}; archive it together with later months`,
  ]);
  expect(await findingsOf(keep)).toEqual([]);
});

test("a long transaction delays the archiving, and not the requests", { timeout: 300_000 }, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  const [person] = await addPeople(keep, 1);
  if (person === undefined) throw new Error("Nobody was added");
  const { months } = await recordPastYear(keep, [person], recordsPerMonth);
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  const reader = new Client(keep.databaseUrl);
  await reader.connect();
  let isArchived = false;
  let slowestMilliseconds = 0;
  try {
    await reader.query("BEGIN");
    await reader.query("SELECT count(*) FROM audit_record");
    const attempt = { before: months[1]?.name ?? "", folder: folder.path };
    const archiving = archive(keep, attempt).finally(() => (isArchived = true));
    for (const startedAt = performance.now(); performance.now() - startedAt < observedMilliseconds; ) {
      const sentAt = performance.now();
      expect((await keep.request("/api/secrets/audit", { token })).status).toBe(200);
      slowestMilliseconds = Math.max(slowestMilliseconds, performance.now() - sentAt);
    }
    expect(isArchived).toBe(false);
    await reader.query("COMMIT");
    expect(await archiving).toEqual([0, expect.stringContaining("Archived ")]);
  } finally {
    await reader.end();
  }
  expect(slowestMilliseconds).toBeLessThan(maxDelayMilliseconds);
});

test("no role that requests run under can remove records or say that they are archived", async () => {
  await using keep = await startUnlimitedKeep();
  const { months } = await recordPastYear(keep, await addPeople(keep, 1), recordsPerMonth);
  const partition = `audit_record_${months[0]?.name.replace("-", "_")}`;
  for (const text of [
    "DELETE FROM audit_record",
    `DELETE FROM ${partition}`,
    `DROP TABLE ${partition}`,
    `ALTER TABLE audit_record DETACH PARTITION ${partition}`,
    "DELETE FROM audit_batch",
    "DELETE FROM audit_tile",
    "UPDATE audit_log SET first_kept_index = 1",
    "UPDATE audit_stream SET records = 0",
    "INSERT INTO audit_archive (month, records, sha256) VALUES ('2026-01', 1, '')",
  ]) {
    const refused = /permission denied|must be owner/u;
    await expect(keep.database.query({ text }), text).rejects.toThrow(refused);
    const asMaintenance = keep.database.acrossAccounts((transaction) => transaction.query({ text }));
    await expect(asMaintenance, text).rejects.toThrow(refused);
  }
  expect(await findingsOf(keep)).toEqual([]);
});
