import { FailureError } from "@hearth-and-keep/failures";
import { ArchiveError } from "../audit/archive/archive-error.ts";
import { readFreeBytes } from "../audit/archive/archive-file.ts";
import { type ArchivedMonth, archiveMonths } from "../audit/archive/archive-months.ts";
import { describeKeys } from "../audit/export/export-stream.ts";
import type { Database } from "../database/open-database.ts";
import { listServerKeys } from "../keys/queries.ts";
import { storedPublicKeys } from "../keys/server-keys.ts";
import { exitCodes, readTrustedMaterial, type VerificationRequest } from "./trusted-files.ts";

export type ArchiveCommandRequest = Pick<VerificationRequest, "keysFile"> & {
  readonly before: string;
  readonly folder: string;
};

export type ArchiveCommandDependencies = {
  readonly database: Database;
  readonly print: (line: string) => void;
  readonly freeBytes?: (folder: string) => Promise<number>;
};

/** Moves past months to files. Returns the exit code. */
export async function archiveAudit(
  { before, folder, keysFile }: ArchiveCommandRequest,
  { database, print, freeBytes = readFreeBytes }: ArchiveCommandDependencies,
): Promise<number> {
  const trusted = await readTrustedMaterial({ keysFile }, print);
  if (trusted === undefined) return exitCodes.unreadable;
  const keys = trusted.keys ?? describeKeys({ publicKeys: storedPublicKeys(await listServerKeys(database)) });
  let months = 0;
  const onArchived = (archived: ArchivedMonth): void => {
    months += 1;
    print(describeMonth(archived));
  };
  try {
    await archiveMonths({ before, folder, keys }, { database, freeBytes, onArchived });
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    print(`Cannot archive: ${reason}`);
    return exitCodes.invalid;
  }
  if (months === 0) print(`The database has no records from before ${before}`);
  return exitCodes.valid;
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof ArchiveError) return error.message;
  return error instanceof FailureError ? "the database is not available" : undefined;
}

function describeMonth({ month, records, file }: ArchivedMonth): string {
  if (file === undefined) return `Removed ${month}, which had no records`;
  return `Archived ${month}: ${records} records in ${file.name}, SHA-256 ${file.sha256}`;
}
