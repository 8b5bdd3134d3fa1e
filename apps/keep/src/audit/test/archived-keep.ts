import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import { compileCacheEnvironment } from "@hearth-and-keep/test-servers";
import { archiveAudit } from "../../commands/archive-audit.ts";
import type { TestKeep, TestPerson } from "../../test/start-test-keep.ts";
import { describeKeys } from "../export/export-stream.ts";
import { verifyLogs } from "../verify/verify-logs.ts";
import { runAsSuperuser } from "./past-year.ts";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));

export type CommandResult = readonly [code: number, lines: readonly string[]];

/** Runs `keep audit …` as an operator does. */
export function runAuditCommand(keep: TestKeep, ...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, "audit", ...args],
      { env: { ...compileCacheEnvironment(), KEEP_DATABASE_URL: keep.databaseUrl } },
      (_error, output, stderr) => resolve([child.exitCode ?? -1, (output + stderr).trim().split("\n")]),
    );
  });
}

export type ArchiveAttempt = {
  readonly before: string;
  readonly folder: string;
  /** Enough without it. */
  readonly freeBytes?: number;
};

/** Runs the command in this process; returns its exit code and last line. */
export async function archive(
  keep: TestKeep,
  { freeBytes = Number.MAX_SAFE_INTEGER, ...request }: ArchiveAttempt,
): Promise<readonly [code: number, line: string | undefined]> {
  const printed: string[] = [];
  const code = await archiveAudit(request, {
    database: keep.database,
    print: (line) => void printed.push(line),
    freeBytes: () => Promise.resolve(freeBytes),
  });
  return [code, printed.at(-1)];
}

export async function addPeople(keep: TestKeep, count: number): Promise<readonly TestPerson[]> {
  const people: TestPerson[] = [];
  for (let added = 0; added < count; added += 1) people.push(await keep.addPerson());
  return people;
}

export function keysOf(keep: TestKeep): readonly CheckpointKey[] {
  return describeKeys(keep.services.serverKeys);
}

/** What verification of the database finds. */
export async function findingsOf(keep: TestKeep): Promise<readonly string[]> {
  return (await verifyLogs({ keys: keysOf(keep), trustedNotes: [] }, keep)).findings;
}

/** The records in the database, as `<log>/<number>`. */
export async function listStored(keep: TestKeep): Promise<readonly string[]> {
  const rows = await runAsSuperuser<{ name: string }>(keep, [
    "SELECT log_id || '/' || number AS name FROM audit_record",
  ]);
  return rows.map(({ name }) => name);
}

/** The contents of archive files by name. */
export async function readArchives(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).toSorted();
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

/** The records in archives, as `<log>/<number>`. */
export function listArchived(archives: ReadonlyMap<string, string>): readonly string[] {
  const lines = [...archives.values()].flatMap((text) => text.split("\n"));
  return lines
    .filter((line) => line.endsWith('"type":"record"}'))
    .map((line) => {
      // Checked by comparing the names with those that were stored.
      const { log, number } = JSON.parse(line) as { readonly log: number; readonly number: number };
      return `${log}/${number}`;
    });
}
