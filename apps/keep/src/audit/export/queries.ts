import type { Database } from "../../database/open-database.ts";
import type { StreamRef } from "../queries.ts";

export type LeafRow = {
  readonly index: number;
  readonly number: number;
  readonly previous: number | null;
  /** The log of the node that wrote the record. */
  readonly writer: number;
};

export type StreamWalk = {
  readonly log: number;
  readonly index: number;
  /** The leaves before it are archived. */
  readonly firstKept: number;
  readonly limit: number;
};

/** The leaves of one stream, from one of them back towards its first kept one, at most as many as given. */
export async function readLeavesBefore(
  database: Pick<Database, "query">,
  { log, index, firstKept, limit }: StreamWalk,
): Promise<readonly LeafRow[]> {
  const rows = await database.query<Record<keyof LeafRow, string | null>>({
    name: "read-audit-leaves",
    text: "WITH RECURSIVE walk AS (SELECT leaf.*, 1 AS depth FROM read_audit_leaf($1, $2) AS leaf UNION ALL SELECT leaf.*, walk.depth + 1 FROM walk CROSS JOIN LATERAL read_audit_leaf($1, walk.previous) AS leaf WHERE walk.previous < walk.index AND walk.previous >= $4 AND walk.depth < $3) SELECT index, number, previous, writer FROM walk ORDER BY depth",
    values: [log, index, limit, firstKept],
  });
  return rows.map(({ index: at, number, previous, writer }) => ({
    index: Number(at),
    number: Number(number),
    previous: previous === null ? null : Number(previous),
    writer: Number(writer),
  }));
}

export type ExportedRow = {
  readonly log_id: number;
  readonly number: string;
  readonly outcome: string;
  readonly subject_id: string | null;
  readonly revision: string | null;
  readonly body: string | null;
  readonly body_hash: string;
};

/** The records of these leaves that are stored. */
export async function readRecords(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
  leaves: readonly LeafRow[],
): Promise<readonly ExportedRow[]> {
  return database.queryInAccount<ExportedRow>(accountId, {
    name: "read-audit-records",
    text: "SELECT record.log_id, record.number, record.outcome, record.subject_id, record.revision, record.body, encode(coalesce(sha256(convert_to(record.body, 'UTF8')), record.body_hash), 'hex') AS body_hash FROM unnest($3::bigint[], $4::integer[]) AS leaf (number, log_id) JOIN audit_record AS record ON record.stream_id = $2 AND record.number = leaf.number AND record.log_id = leaf.log_id WHERE record.account_id = entered.account::uuid",
    values: [stream, leaves.map(({ number }) => number), leaves.map(({ writer }) => writer)],
  });
}

export async function readTile(
  database: Pick<Database, "query">,
  { log, level, index }: { readonly log: number; readonly level: number; readonly index: number },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const [row] = await database.query<{ hashes: Buffer }>({
    name: "read-audit-tile",
    text: "SELECT hashes FROM audit_tile WHERE log_id = $1 AND level = $2 AND index = $3",
    values: [log, level, index],
  });
  return row === undefined ? undefined : Uint8Array.from(row.hashes);
}
