import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";
import type { LeafKey } from "../verify/queries.ts";

/** The month that it is in the database. */
export async function readCurrentMonth(database: Pick<Database, "query">): Promise<string> {
  const [row] = await database.query<{ month: string }>({
    text: "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS month",
  });
  return row?.month ?? "";
}

export type PartitionRow = { readonly name: string; readonly bytes: string };

/** The partitions of records, one per month, oldest first. */
export async function listPartitions(transaction: Transaction): Promise<readonly PartitionRow[]> {
  return transaction.query<PartitionRow>({
    text: "SELECT child.relname AS name, pg_total_relation_size(child.oid) AS bytes FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid WHERE inhparent = 'audit_record'::regclass ORDER BY child.relname",
  });
}

export type LogRange = { readonly log: number; readonly first: number; readonly end: number };

/** One more than the index of the log's last leaf whose record is before this number; undefined if there is none. */
export async function findEndBefore(
  transaction: Transaction,
  log: number,
  number: number,
): Promise<number | undefined> {
  const [row] = await transaction.query<{ end: string | null }>({
    text: 'SELECT max(batch.first_index + leaf.place) AS "end" FROM audit_batch AS batch CROSS JOIN LATERAL unnest(batch.numbers) WITH ORDINALITY AS leaf (number, place) WHERE batch.log_id = $1 AND leaf.number < $2',
    values: [log, number],
  });
  return row === undefined || row.end === null ? undefined : Number(row.end);
}

/** The latest number in a range of leaves. */
export async function findLatestNumber(
  transaction: Transaction,
  { log, first, end }: LogRange,
): Promise<number> {
  const [row] = await transaction.query<{ number: string | null }>({
    text: "SELECT max(leaf.number) AS number FROM audit_batch AS batch CROSS JOIN LATERAL unnest(batch.numbers) WITH ORDINALITY AS leaf (number, place) WHERE batch.log_id = $1 AND batch.first_index + leaf.place > $2 AND batch.first_index + leaf.place <= $3",
    values: [log, first, end],
  });
  return Number(row?.number ?? 0);
}

export type StoredRecordRow = {
  readonly log_id: number;
  readonly number: string;
  readonly account_id: string;
  readonly stream_id: string;
  readonly outcome: string;
  readonly subject_id: string | null;
  readonly revision: string | null;
  readonly body: string | null;
  readonly body_hash: string;
};

/** The records of these leaves that are stored, of all accounts and with their contents. */
export async function readStoredRecords(
  transaction: Transaction,
  leaves: readonly LeafKey[],
): Promise<readonly StoredRecordRow[]> {
  const numbers = leaves.map(({ number }) => number);
  return transaction.query<StoredRecordRow>({
    name: "read-archived-records",
    text: "SELECT record.log_id, record.number, record.account_id, record.stream_id, record.outcome, record.subject_id, record.revision, record.body, encode(coalesce(sha256(convert_to(record.body, 'UTF8')), record.body_hash), 'hex') AS body_hash FROM audit_record AS record JOIN unnest($3::bigint[], $4::integer[]) AS leaf (number, log_id) ON leaf.number = record.number AND leaf.log_id = record.log_id WHERE record.number BETWEEN $1 AND $2",
    values: [Math.min(...numbers), Math.max(...numbers), numbers, leaves.map(({ writer }) => writer)],
  });
}

export async function countRecords(transaction: Transaction, partition: string): Promise<number> {
  const [row] = await transaction.query<{ count: string }>({ text: `SELECT count(*) FROM ${partition}` });
  return Number(row?.count ?? 0);
}

/** Waits at most this long for a lock, so that requests behind it are not delayed for longer. */
export async function limitLockWait(transaction: Transaction, milliseconds: number): Promise<void> {
  await transaction.query({
    text: "SELECT set_config('lock_timeout', $1, true)",
    values: [`${milliseconds}ms`],
  });
}

/** Records of a past month are no longer inserted, and from here on cannot be. */
export async function lockPartition(transaction: Transaction, partition: string): Promise<void> {
  await transaction.query({ text: `LOCK TABLE ${partition} IN SHARE MODE` });
}

/** False when the log no longer begins at the first leaf of the range. */
export async function setFirstKept(
  transaction: Transaction,
  { log, first, end }: LogRange,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "UPDATE audit_log SET first_kept_index = $3 WHERE id = $1 AND first_kept_index = $2 RETURNING id",
    values: [log, first, end],
  });
  return rows.length === 1;
}

/** How many leaves of a stream are archived. */
export type StreamCount = { readonly account: string; readonly stream: string; readonly leaves: number };

/** By `streamName`. */
export type StreamCounts = ReadonlyMap<string, StreamCount>;

export async function subtractArchived(
  transaction: Transaction,
  log: number,
  counts: StreamCounts,
): Promise<void> {
  const archived = [...counts.values()];
  await transaction.query({
    text: "UPDATE audit_stream AS kept SET records = kept.records - archived.records FROM unnest($2::uuid[], $3::uuid[], $4::bigint[]) AS archived (account_id, stream_id, records) WHERE kept.log_id = $1 AND kept.stream_id = archived.stream_id AND kept.account_id = archived.account_id",
    values: [
      log,
      archived.map(({ account }) => account),
      archived.map(({ stream }) => stream),
      archived.map(({ leaves }) => leaves),
    ],
  });
}

/** Deletes the records of archived leaves that are of a later month than the partition which is dropped. */
export async function deleteRecordsFrom(
  transaction: Transaction,
  { log, first, end }: LogRange,
  number: number,
): Promise<void> {
  await transaction.query({
    text: "WITH archived AS MATERIALIZED (SELECT leaf.number, coalesce(leaf.writer, batch.log_id) AS log_id FROM audit_batch AS batch CROSS JOIN LATERAL unnest(batch.numbers, batch.writers) WITH ORDINALITY AS leaf (number, writer, place) WHERE batch.log_id = $1 AND batch.first_index + leaf.place > $2 AND batch.first_index + leaf.place <= $3 AND leaf.number >= $4) DELETE FROM audit_record AS record USING archived WHERE record.number = archived.number AND record.log_id = archived.log_id AND record.number BETWEEN $4 AND (SELECT max(archived.number) FROM archived)",
    values: [log, first, end, number],
  });
}

/**
 * Deletes the batches and the tiles of leaf hashes that are wholly archived. The last batch that has an archived leaf
 * stays: its checkpoint authenticates the tiles of the archived part that are kept.
 */
export async function deleteLeaves(transaction: Transaction, { log, end }: LogRange): Promise<void> {
  await transaction.query({
    text: "DELETE FROM audit_batch WHERE log_id = $1 AND first_index + cardinality(numbers) < $2",
    values: [log, end],
  });
  await transaction.query({
    text: "DELETE FROM audit_tile WHERE log_id = $1 AND level = 0 AND (index + 1) * 256 <= $2",
    values: [log, end],
  });
}

export type ArchiveRow = { readonly month: string; readonly records: number; readonly sha256: Buffer };

export async function insertArchive(
  transaction: Transaction,
  { month, records, sha256 }: ArchiveRow,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO audit_archive (month, records, sha256) VALUES ($1, $2, $3)",
    values: [month, records, sha256],
  });
}

/** Excludes every other use of the table for a moment, so it comes last in its transaction. */
export async function dropPartition(transaction: Transaction, partition: string): Promise<void> {
  await transaction.query({ text: `DROP TABLE ${partition}` });
}
