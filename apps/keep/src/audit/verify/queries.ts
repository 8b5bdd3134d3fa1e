import type { Database } from "../../database/open-database.ts";
import type { HashedRow } from "../queries.ts";

type Reader = Pick<Database, "acrossAccounts">;

/** One state of the database for all queries, so that what is appended meanwhile does not look like a change. */
export async function inSnapshot<Result>(
  database: Reader,
  work: (snapshot: Reader) => Promise<Result>,
): Promise<Result> {
  return database.acrossAccounts(async (transaction) => {
    await transaction.query({ text: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY" });
    return work({ acrossAccounts: (query) => query(transaction) });
  });
}

export type LogRow = {
  readonly id: number;
  readonly origin: string;
  readonly size: string;
  /** The leaves before it are archived. */
  readonly first_kept_index: string;
  readonly note: string | null;
  readonly edge: readonly Buffer[];
};

export async function listLogs(database: Reader): Promise<readonly LogRow[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<LogRow>({
      text: "SELECT id, origin, size, first_kept_index, note, edge FROM audit_log ORDER BY id",
    }),
  );
}

export type BatchRow = {
  readonly first_index: string;
  readonly note: string;
  readonly numbers: readonly string[];
  readonly previous: readonly (string | null)[];
  readonly writers: readonly number[] | null;
};

/** The first index of the batch that the leaf before this index is in; else this index. */
export async function findBatchBefore(database: Reader, log: number, index: number): Promise<number> {
  const [row] = await database.acrossAccounts((transaction) =>
    transaction.query<{ first_index: string | null }>({
      text: "SELECT max(first_index) AS first_index FROM audit_batch WHERE log_id = $1 AND first_index < $2",
      values: [log, index],
    }),
  );
  return Number(row?.first_index ?? index);
}

/** The next batches of a log after the one at this index. */
export async function readBatches(
  database: Reader,
  log: number,
  after: number,
): Promise<readonly BatchRow[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<BatchRow>({
      text: "SELECT first_index, note, numbers, previous, writers FROM audit_batch WHERE log_id = $1 AND first_index > $2 ORDER BY first_index LIMIT 50",
      values: [log, after],
    }),
  );
}

export type VerifiedRow = HashedRow & {
  readonly is_erased: boolean;
  readonly event_type: string | null;
  /** The hash at the end of a chain that this record carried over. */
  readonly chain_end: string | null;
};

export type LeafKey = { readonly number: number; readonly writer: number };

/** The records of these leaves that are stored. */
export async function readHashedRecords(
  database: Reader,
  leaves: readonly LeafKey[],
): Promise<readonly VerifiedRow[]> {
  const numbers = leaves.map(({ number }) => number);
  return database.acrossAccounts((transaction) =>
    transaction.query<VerifiedRow>({
      text: "SELECT record.* FROM audit_record_hash AS record JOIN unnest($3::bigint[], $4::integer[]) AS leaf (number, log_id) ON leaf.number = record.number AND leaf.log_id = record.log_id WHERE record.number BETWEEN $1 AND $2",
      values: [Math.min(...numbers), Math.max(...numbers), numbers, leaves.map(({ writer }) => writer)],
    }),
  );
}

export type TileRow = { readonly level: number; readonly index: string; readonly hashes: Buffer };

/** Full tiles of one level, from this index on. */
export async function readTiles(
  database: Reader,
  { log, level, from }: { readonly log: number; readonly level: number; readonly from: number },
): Promise<readonly TileRow[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<TileRow>({
      text: "SELECT level, index, hashes FROM audit_tile WHERE log_id = $1 AND level = $2 AND index >= $3 ORDER BY index LIMIT 200",
      values: [log, level, from],
    }),
  );
}

export type EndRow = {
  readonly stream_id: string;
  readonly account_id: string;
  readonly last_index: string;
  readonly records: string;
};

/** The end of a log, with the ends of its streams. */
export type LogEnd = Pick<LogRow, "size" | "note" | "edge"> & {
  readonly tiles: number;
  readonly streams: readonly EndRow[];
};

export async function readEnd(database: Reader, log: number): Promise<LogEnd> {
  return database.acrossAccounts(async (transaction) => {
    const [end] = await transaction.query<Pick<LogRow, "size" | "note" | "edge"> & { tiles: number }>({
      text: "SELECT size, note, edge, (SELECT count(*)::integer FROM audit_tile WHERE log_id = log.id) AS tiles FROM audit_log AS log WHERE id = $1",
      values: [log],
    });
    const streams = await transaction.query<EndRow>({
      text: "SELECT stream_id, account_id, last_index, records FROM audit_stream WHERE log_id = $1",
      values: [log],
    });
    return { ...(end ?? { size: "0", note: null, edge: [], tiles: 0 }), streams };
  });
}

/** How many records were moved to archive files. */
export async function countArchivedRecords(database: Reader): Promise<number> {
  const [row] = await database.acrossAccounts((transaction) =>
    transaction.query<{ records: string }>({
      text: "SELECT coalesce(sum(records), 0) AS records FROM audit_archive",
    }),
  );
  return Number(row?.records ?? 0);
}
