import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { verifyAuditExport } from "@hearth-and-keep/audit-records";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { verifyArchives } from "../commands/verify-archives.ts";
import { verifyDatabase } from "../commands/verify-audit.ts";
import { everyScope, startUnlimitedKeep } from "../test/open-vault.ts";
import { readJson } from "../test/read-json.ts";
import type { TestKeep, TestPerson } from "../test/start-test-keep.ts";
import {
  addPeople,
  archive,
  findingsOf,
  listArchived,
  listStored,
  readArchives,
  runAuditCommand,
} from "./test/archived-keep.ts";
import { openPastYear, recordPastYear, runAsSuperuser } from "./test/past-year.ts";

const recordsPerMonth = chooseSize({ ci: 60, show: 6000, nightly: 30_000 });
const archivedMonths = 11;
const minRequests = 30;
const differentSecrets = 100;
/** On a slow machine, verification would otherwise never catch up with the records of the requests. */
const maxRoundsPerPerson = chooseSize({ ci: 100, show: 500, nightly: 1000 });

const otherTables = ["audit_log", "audit_batch", "audit_tile", "audit_stream", "audit_archive"];

/** Of the audit tables, after what autovacuum does every minute; without this month, to which requests add records. */
async function countBytes(keep: TestKeep): Promise<number> {
  const [row] = await runAsSuperuser<{ bytes: string }>(keep, [
    `VACUUM ${otherTables.join()}`,
    `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND (relname LIKE 'audit_record%' AND relname <> to_char(now() AT TIME ZONE 'UTC', '"audit_record_"YYYY_MM') OR relname IN ('${otherTables.join("','")}'))`,
  ]);
  return Number(row?.bytes);
}

type Usage = { succeeded: number; readonly failed: number[]; slowestMilliseconds: number };

/** Writes, reads and lists until stopped, up to a number of rounds. */
async function useVault(keep: TestKeep, person: TestPerson, signal: AbortSignal): Promise<Usage> {
  const { text: token } = await keep.addToken(person, { scopes: everyScope });
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  const usage: Usage = { succeeded: 0, failed: [], slowestMilliseconds: 0 };
  const send = async (path: string, options: { readonly method?: string; readonly body?: unknown } = {}) => {
    const startedAt = performance.now();
    const response = await keep.request(vault + path, { token, ...options });
    await response.arrayBuffer();
    usage.slowestMilliseconds = Math.max(usage.slowestMilliseconds, performance.now() - startedAt);
    if (response.ok) usage.succeeded += 1;
    else usage.failed.push(response.status);
  };
  for (let at = 0; at < maxRoundsPerPerson && !signal.aborted; at += 1) {
    // A secret has a limited number of versions.
    await send(`/secrets/by-path/KEY_${at % differentSecrets}`, {
      method: "PUT",
      body: { value: `value ${at}` },
    });
    await send(`/values/by-path/KEY_${at % differentSecrets}`);
    await send("/audit?limit=20");
  }
  return usage;
}

/** Archives with the command while every person uses their vault. */
async function archiveInUse(keep: TestKeep, people: readonly TestPerson[], args: readonly string[]) {
  const stop = new AbortController();
  const using = people.map((person) => useVault(keep, person, stop.signal));
  const work = async () => {
    const archived = await runAuditCommand(keep, "archive", ...args);
    // Also while nodes append to the logs that are being verified.
    for (let round = 0; round < 3; round += 1) expect(await findingsOf(keep)).toEqual([]);
    return archived;
  };
  // Also after a failure, because the next test would wait for what goes on.
  const [code, lines] = await work().finally(() => stop.abort());
  const used = await Promise.all(using);
  expect(used.flatMap(({ failed }) => failed)).toEqual([]);
  return {
    code,
    months: lines.map((line) => line.replace(/: \d+ records in .*/u, "")),
    requests: used.reduce((sum, { succeeded }) => sum + succeeded, 0),
    slowestMilliseconds: Math.round(Math.max(...used.map(({ slowestMilliseconds: each }) => each))),
  };
}

/** The export and the list of a person's vault both end with the oldest record that is kept. */
async function verifyStreamOf(keep: TestKeep, { vaultId, accountId }: TestPerson): Promise<void> {
  const { text: token } = await keep.addToken({ accountId }, { scopes: ["audit:read"] });
  const path = `/api/secrets/vaults/${vaultId}/audit`;
  const text = await (await keep.request(`${path}/export`, { token })).text();
  const [kept] = await runAsSuperuser<{ records: number }>(keep, [
    `SELECT count(*)::integer AS records FROM audit_record WHERE stream_id = '${vaultId}'`,
  ]);
  expect(await verifyAuditExport(text.split("\n"))).toMatchObject({
    isValid: true,
    records: kept?.records,
    logs: expect.arrayContaining([expect.objectContaining({ archivedBefore: expect.any(Number) })]),
  });
  let listed = 0;
  for (let before = ""; ; ) {
    const page = await readJson<Page>(keep.request(`${path}?limit=200${before}`, { token }));
    listed += page.items.length;
    if (page.next_before === undefined) break;
    before = `&before=${page.next_before}`;
  }
  expect(listed).toBe(kept?.records);
}

type Page = { readonly items: readonly unknown[]; readonly next_before?: number };

/** With checkpoints of all times: some are older than what is kept, and are compared with the archives instead. */
async function verifyAll(keep: TestKeep, folder: string, notes: readonly string[]): Promise<void> {
  const files = [...(await readArchives(folder)).keys()].map((name) => join(folder, name));
  await using elsewhere = await makeTemporaryFolder("keep-checkpoints");
  const checkpoints = join(elsewhere.path, "checkpoints.ndjson");
  const noteLines = notes.map((note) => `${JSON.stringify({ type: "log-checkpoint", note })}\n`);
  await writeFile(checkpoints, noteLines.join(""));
  const printed: string[] = [];
  const print = (line: string): void => void printed.push(line);
  const request = { checkpointsFile: checkpoints };
  expect(await verifyDatabase(request, { database: keep.database, print })).toBe(0);
  expect(printed).toContain("No changes detected");
  expect(printed.join("\n")).toMatch(/\d+ trusted checkpoints are older than the kept records/u);
  expect(await verifyArchives(files, request, print)).toBe(0);
  const args = ["verify", "--checkpoints", checkpoints, "--database", "--archive", ...files];
  const [code, lines] = await runAuditCommand(keep, ...args);
  expect([code, lines]).toEqual([0, expect.arrayContaining(["No changes detected"])]);
  const compared = lines.map((line) => Number(/trusted checkpoints: (?<count>\d+)/u.exec(line)?.[1] ?? 0));
  expect(compared.slice(0, archivedMonths).every((count) => count > 0)).toBe(true);
}

test("eleven of thirteen months are archived while Keep serves, and both parts verify", {
  timeout: 600_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  const people = await addPeople(keep, 3);
  const { months, notes } = await recordPastYear(keep, people, recordsPerMonth);
  expect(await findingsOf(keep)).toEqual([]);
  const before = { bytes: await countBytes(keep), records: await listStored(keep) };
  const limit = months.at(-1)?.name ?? "";
  const args = ["--before", limit, "--to", folder.path];
  const archiving = await archiveInUse(keep, people, args);
  const names = months.slice(0, archivedMonths).map(({ name }) => name);
  expect(archiving).toMatchObject({ code: 0, months: names.map((name) => `Archived ${name}`) });
  expect(archiving.requests).toBeGreaterThan(minRequests);

  const archives = await readArchives(folder.path);
  expect([...archives.keys()]).toEqual(names.map((name) => `audit-${name}.ndjson`));
  const [kept, archived] = [await listStored(keep), listArchived(archives)];
  const all = new Set([...kept, ...archived]);
  expect(before.records.filter((name) => !all.has(name))).toEqual([]);
  expect(all.size).toBe(kept.length + archived.length);

  await verifyAll(keep, folder.path, notes);
  for (const person of people) await verifyStreamOf(keep, person);
  const again = [0, [`The database has no records from before ${limit}`]];
  expect(await runAuditCommand(keep, "archive", ...args)).toEqual(again);
  const bytes = await countBytes(keep);
  expect(bytes).toBeLessThan(before.bytes / 2);
  recordFigure({
    claim: "seal 10",
    text: `${before.records.length} records of 13 months: 11 months archived, all verified; audit tables without this month from ${mebibytes(before.bytes)} to ${mebibytes(bytes)} MiB; ${archiving.requests} requests meanwhile, none failed, the slowest took ${archiving.slowestMilliseconds} ms`,
  });
});

test("the database stays bounded when every month another one is archived", {
  timeout: 600_000,
}, async () => {
  await using folder = await makeTemporaryFolder("keep-archive");
  await using keep = await startUnlimitedKeep();
  await using year = await openPastYear(keep, await addPeople(keep, 3), Math.ceil(recordsPerMonth / 3));
  const bytes: number[] = [];
  for (const { name } of year.months) {
    await year.record(1);
    // The command keeps the month that it names, and the last one is the one that was just recorded.
    const [code] = await archive(keep, { before: name, folder: folder.path });
    expect(code).toBe(0);
    bytes.push(await countBytes(keep));
  }
  expect(await findingsOf(keep)).toEqual([]);
  expect((await readArchives(folder.path)).size).toBe(archivedMonths);
  const [afterThree = 0, afterTwelve = 0] = [bytes[2], bytes[11]];
  expect(afterTwelve).toBeLessThan(afterThree * 1.1);
  recordFigure({
    claim: "seal 10",
    text: `a month archived every month: the audit tables have ${mebibytes(afterThree)} MiB after three months, ${mebibytes(afterTwelve)} after twelve`,
  });
});

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}
