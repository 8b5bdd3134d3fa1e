/**
 * @module
 * Retention: moves the audit records of past months from the database to files, one per month. Guarantees that a month
 * is dropped from the database only after its file was written to disk and verified against the signed checkpoints, and
 * that what stays in the database can be verified without the files.
 * Imported by `commands/`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import { timestampOf } from "@hearth-and-keep/audit-records";
import { FailureError } from "@hearth-and-keep/failures";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { Failure } from "../../failures.ts";
import { listLogs } from "../verify/queries.ts";
import { ArchiveError } from "./archive-error.ts";
import { createArchiveFile } from "./archive-file.ts";
import { type Month, monthBefore, monthOfPartition, parseMonth } from "./months.ts";
import {
  countRecords,
  deleteLeaves,
  deleteRecordsFrom,
  dropPartition,
  findEndBefore,
  findLatestNumber,
  insertArchive,
  limitLockWait,
  listPartitions,
  lockPartition,
  readCurrentMonth,
  setFirstKept,
  subtractArchived,
} from "./queries.ts";
import { verifyArchive } from "./verify-archive.ts";
import { type ArchivedRange, type WrittenArchive, writeArchive } from "./write-archive.ts";

export type ArchiveRequest = {
  /** `YYYY-MM`: the months before it are archived. */
  readonly before: string;
  readonly folder: string;
  /** The keys that checkpoints must be signed with. */
  readonly keys: readonly CheckpointKey[];
};

export type ArchiveDependencies = {
  readonly database: Pick<Database, "query" | "acrossAccounts" | "asOwner">;
  readonly freeBytes: (folder: string) => Promise<number>;
  /** Called after each month that is no longer in the database. */
  readonly onArchived: (archive: ArchivedMonth) => void;
};

export type ArchivedMonth = {
  readonly month: string;
  readonly records: number;
  /** Undefined when the month had no records, and no file was written. */
  readonly file: { readonly name: string; readonly sha256: string } | undefined;
};

/** Oldest month first. Throws an ArchiveError for the first month that cannot be archived; later ones stay then, too. */
export async function archiveMonths(
  request: ArchiveRequest,
  dependencies: ArchiveDependencies,
): Promise<void> {
  const { database, onArchived } = dependencies;
  const before = await readLimit(request.before, database);
  const partitions = await database.asOwner(listPartitions);
  for (const { name, bytes } of partitions) {
    const month = monthOfPartition(name);
    if (month === undefined || month.end > before.start) continue;
    const partition = { name, month, bytes: Number(bytes) };
    try {
      onArchived(await archiveMonth(partition, { ...request, before }, dependencies));
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      throw new ArchiveError(`${month.name} is not archived yet: ${error.message}`, { cause: error });
    }
  }
}

/** The current and the previous month stay, because people look at them and nodes may still append records to them. */
async function readLimit(text: string, database: Pick<Database, "query">): Promise<Month> {
  const before = parseMonth(text);
  if (before === undefined) throw new ArchiveError(`"${text}" is not a month such as 2026-01`);
  const current = parseMonth(await readCurrentMonth(database));
  const latest = current === undefined ? "" : monthBefore(current);
  if (before.name > latest)
    throw new ArchiveError(`the current and the previous month are kept; name a month up to ${latest}`);
  return before;
}

type Partition = { readonly name: string; readonly month: Month; readonly bytes: number };
type MonthRequest = Omit<ArchiveRequest, "before"> & { readonly before: Month };

async function archiveMonth(
  partition: Partition,
  request: MonthRequest,
  dependencies: ArchiveDependencies,
): Promise<ArchivedMonth> {
  const { month } = partition;
  const { database } = dependencies;
  const ranges = await findRanges(month, request.before, database);
  if (ranges.length === 0) {
    const drop = { partition, ranges, written: nothingWritten, sha256: undefined };
    await dropMonth(drop, database);
    return { month: month.name, records: 0, file: undefined };
  }
  await assertSpace(partition, request.folder, dependencies);
  await using file = await createArchiveFile(request.folder, month.name);
  const written = await database.asOwner((owner) =>
    writeArchive(file, { month, keys: request.keys, ranges }, { database, owner }),
  );
  const sha256 = await file.finish();
  const verified = await verifyArchive(file.readLines(), { keys: request.keys });
  if (!verified.isValid)
    throw new ArchiveError(
      `its records are not as they were signed: ${verified.reason}; run "keep audit verify --database"`,
    );
  await file.publish();
  await dropMonth({ partition, ranges, written, sha256 }, database).catch((error: unknown) => {
    if (!isFailure(error, "outcome-unknown")) throw error;
    // The file is all that may be left of the records.
    file.keep();
    throw new ArchiveError(
      "the connection to the database was lost; its file is complete, and the next run shows whether it was dropped",
      { cause: error },
    );
  });
  file.keep();
  return {
    month: month.name,
    records: written.records,
    file: { name: file.name, sha256: sha256.toString("hex") },
  };
}

const nothingWritten: WrittenArchive = { records: 0, ofMonth: 0, streams: new Map() };

/** A record becomes a leaf within seconds, so at the end of a month a few records of the next one precede the last. */
const maxLateMicroseconds = 86_400_000_000;

/**
 * For each log its leaves up to the last one of the month. Leaves are in the order in which records were appended,
 * which is not exactly that of their times: what stands between is archived with the month.
 */
async function findRanges(
  month: Month,
  before: Month,
  database: Pick<Database, "acrossAccounts" | "asOwner">,
): Promise<readonly ArchivedRange[]> {
  const logs = await listLogs(database);
  return database.asOwner(async (owner) => {
    const ranges: ArchivedRange[] = [];
    for (const log of logs) {
      const first = Number(log.first_kept_index);
      const end = (await findEndBefore(owner, log.id, month.end)) ?? first;
      if (end <= first) continue;
      const latest = await findLatestNumber(owner, { log: log.id, first, end });
      if (latest >= before.start + maxLateMicroseconds)
        throw new ArchiveError(
          `log ${log.origin} has one of its records only after one of ${timestampOf(latest).slice(0, 10)}; archive it together with later months`,
        );
      ranges.push({ log, first, end });
    }
    return ranges;
  });
}

/** Bytes of a file per byte of its partition; measured below one. */
const bytesPerStoredByte = 2;
const mebibyte = 1_048_576;

async function assertSpace(
  { bytes }: Partition,
  folder: string,
  { freeBytes }: ArchiveDependencies,
): Promise<void> {
  const needed = bytes * bytesPerStoredByte;
  const free = await freeBytes(folder);
  if (free < needed)
    throw new ArchiveError(
      `the folder has ${Math.floor(free / mebibyte)} MiB of free space, and the file may need ${Math.ceil(needed / mebibyte)}`,
    );
}

type MonthToDrop = {
  readonly partition: Partition;
  readonly ranges: readonly ArchivedRange[];
  readonly written: WrittenArchive;
  /** Undefined without a file. */
  readonly sha256: Buffer | undefined;
};

const lockMilliseconds = 500;
const lockAttempts = 60;
const lockPauseMilliseconds = 1000;

/** Dropping a partition waits for running transactions, and requests wait behind it; so it gives up soon, and retries. */
async function dropMonth(drop: MonthToDrop, database: Pick<Database, "asOwner">): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.asOwner((transaction) => dropInTransaction(drop, transaction));
    } catch (error) {
      if (!isFailure(error, "data-locked")) throw error;
      if (attempt === lockAttempts)
        throw new ArchiveError("the database is too busy; try again later", { cause: error });
      await sleep(lockPauseMilliseconds);
    }
  }
}

async function dropInTransaction(
  { partition, ranges, written, sha256 }: MonthToDrop,
  transaction: Transaction,
): Promise<void> {
  const { name, month } = partition;
  await limitLockWait(transaction, lockMilliseconds);
  await lockPartition(transaction, name);
  const surplus = (await countRecords(transaction, name)) - written.ofMonth;
  if (surplus !== 0)
    throw new ArchiveError(
      `${surplus} of its records are in no log; run "keep audit verify --database", which names them`,
    );
  const archived = ranges.map(({ log, first, end }) => ({ log: log.id, first, end }));
  for (const range of archived) {
    await deleteRecordsFrom(transaction, range, month.end);
    await deleteLeaves(transaction, range);
  }
  // From here on, nodes wait to append to these logs.
  for (const range of archived) {
    if (!(await setFirstKept(transaction, range)))
      throw new ArchiveError("it is being archived by another process");
    await subtractArchived(transaction, range.log, written.streams.get(range.log) ?? new Map());
  }
  if (sha256 !== undefined)
    await insertArchive(transaction, { month: month.name, records: written.records, sha256 });
  await dropPartition(transaction, name);
}

function isFailure(error: unknown, kind: Failure["kind"]): boolean {
  // Keep throws FailureError only with its own failures.
  return error instanceof FailureError && (error.failure as Failure).kind === kind;
}
