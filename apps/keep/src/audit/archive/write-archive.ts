import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import { toBase64 } from "../bytes.ts";
import { parseBody } from "../chains/describe-link.ts";
import { streamName } from "../stream-name.ts";
import { type BatchRow, findBatchBefore, type LogRow, readBatches } from "../verify/queries.ts";
import { createTileReader, type TileReader } from "../verify/read-tiles.ts";
import { leavesOf } from "../verify/verify-log.ts";
import { ArchiveError } from "./archive-error.ts";
import type { ArchiveFile } from "./archive-file.ts";
import { archiveFormat, writeArchiveLine } from "./archive-line.ts";
import type { Month } from "./months.ts";
import { readStoredRecords, type StoredRecordRow, type StreamCount, type StreamCounts } from "./queries.ts";

/** The leaves of one log that are archived with a month: from its first kept one up to `end`. */
export type ArchivedRange = { readonly log: LogRow; readonly first: number; readonly end: number };

export type ArchiveContent = {
  readonly month: Month;
  readonly keys: readonly CheckpointKey[];
  readonly ranges: readonly ArchivedRange[];
};

export type ArchiveSources = {
  readonly database: Pick<Database, "acrossAccounts">;
  /** With the rights of the schema's owner, who reads the records of all accounts. */
  readonly owner: Transaction;
};

export type WrittenArchive = {
  readonly records: number;
  /** Records of the month itself. Others stand between them in a log. */
  readonly ofMonth: number;
  /** By log id. */
  readonly streams: ReadonlyMap<number, StreamCounts>;
};

/** Writes the lines of an archive. What it has read is verified afterwards, from the file. */
export async function writeArchive(
  file: Pick<ArchiveFile, "write">,
  { month, keys, ranges }: ArchiveContent,
  sources: ArchiveSources,
): Promise<WrittenArchive> {
  const counts = { records: 0, ofMonth: 0 };
  const streams = new Map<number, StreamCounts>();
  await file.write(writeArchiveLine({ type: "archive", format: archiveFormat, month: month.name, keys }));
  for (const range of ranges) {
    const ofStreams = new Map<string, StreamCount>();
    streams.set(range.log.id, ofStreams);
    for await (const { text, rows } of readRange(range, sources)) {
      await file.write(text);
      counts.records += rows.length;
      for (const { account_id: account, stream_id: stream, number } of rows) {
        const name = streamName(account, stream);
        ofStreams.set(name, { account, stream, leaves: (ofStreams.get(name)?.leaves ?? 0) + 1 });
        if (Number(number) < month.end) counts.ofMonth += 1;
      }
    }
  }
  await file.write(writeArchiveLine({ type: "end", records: counts.records }));
  return { ...counts, streams };
}

type Chunk = { readonly text: string; readonly rows: readonly StoredRecordRow[] };

async function* readRange(
  { log, first, end }: ArchivedRange,
  { database, owner }: ArchiveSources,
): AsyncGenerator<Chunk> {
  const tiles = createTileReader(log, database);
  const edge = await tiles.edgeAt(first);
  if (edge === undefined) throw brokenLog(log);
  yield {
    text: writeArchiveLine({ type: "log", origin: log.origin, first, size: end, edge: edge.map(toBase64) }),
    rows: [],
  };
  for (let last = (await findBatchBefore(database, log.id, first)) - 1; ; ) {
    const batches = await readBatches(database, log.id, last);
    for (const batch of batches) {
      if (Number(batch.first_index) >= end) return;
      yield await readBatch(batch, { log, first, end }, { owner, tiles });
    }
    const latest = batches.at(-1);
    if (latest === undefined) return;
    last = Number(latest.first_index);
  }
}

/** The batch's leaves that are archived, the hashes of those that are not, and its checkpoint. */
async function readBatch(
  batch: BatchRow,
  { log, first, end }: ArchivedRange,
  { owner, tiles }: { readonly owner: Transaction; readonly tiles: TileReader },
): Promise<Chunk> {
  const start = Number(batch.first_index);
  const leaves = leavesOf(batch, log.id).map((leaf, place) => ({ ...leaf, index: start + place }));
  const archived = leaves.filter(({ index }) => index >= first && index < end);
  if (archived.length === 0) return { text: "", rows: [] };
  const stored = await readStoredRecords(owner, archived);
  const rows = new Map(stored.map((row) => [`${row.log_id}/${row.number}`, row]));
  const lines = archived.map(({ index, previous, number, writer }) => {
    const row = rows.get(`${writer}/${number}`);
    if (row === undefined) throw brokenLog(log);
    return writeArchiveLine({ type: "record", index, previous, ...describeRecord(row) });
  });
  for (const { index } of leaves.filter((leaf) => leaf.index >= end)) {
    const hash = await tiles.hashAt(0, index);
    if (hash === undefined) throw brokenLog(log);
    lines.push(writeArchiveLine({ type: "leaf", hash: toBase64(hash) }));
  }
  lines.push(writeArchiveLine({ type: "checkpoint", note: batch.note }));
  return { text: lines.join(""), rows: stored };
}

function describeRecord(row: StoredRecordRow) {
  return {
    log: row.log_id,
    number: Number(row.number),
    account: row.account_id,
    stream: row.stream_id,
    outcome: row.outcome,
    subject_id: row.subject_id,
    revision: row.revision === null ? null : Number(row.revision),
    body: row.body === null ? null : parseBody(row.body),
    body_hash: row.body_hash,
  };
}

function brokenLog({ origin }: LogRow): ArchiveError {
  return new ArchiveError(
    `log ${origin} is not complete in the database; run "keep audit verify --database", which names what is missing`,
  );
}
