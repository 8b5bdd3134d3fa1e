import type { TileContent } from "@hearth-and-keep/transparency-log";
import type { Database } from "../database/open-database.ts";
import type { Statement, Transaction } from "../database/transaction.ts";
import { toBase64 } from "./bytes.ts";
import type { AuditOutcome } from "./events.ts";

/** A record as it is inserted. */
export type NewRecord = {
  readonly log: number;
  readonly number: number;
  readonly account: string;
  readonly stream: string;
  readonly outcome: AuditOutcome;
  readonly subject: string | null;
  readonly revision: number | null;
  readonly body: string;
  readonly mac: Buffer;
};

export function insertRecordsStatement(records: readonly NewRecord[]): Statement {
  return {
    name: "insert-audit-records",
    text: "INSERT INTO audit_record (log_id, number, account_id, stream_id, outcome, subject_id, revision, body, mac) SELECT * FROM unnest($1::integer[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::bigint[], $8::text[], $9::bytea[])",
    values: [
      records.map(({ log }) => log),
      records.map(({ number }) => number),
      records.map(({ account }) => account),
      records.map(({ stream }) => stream),
      records.map(({ outcome }) => outcome),
      records.map(({ subject }) => subject),
      records.map(({ revision }) => revision),
      records.map(({ body }) => body),
      records.map(({ mac }) => mac),
    ],
  };
}

/** The log of a process, as stored. */
export type HeldLog = {
  readonly id: number;
  readonly origin: string;
  readonly epoch: number;
  readonly size: number;
  readonly lastNumber: number;
  readonly edge: readonly Uint8Array<ArrayBuffer>[];
  /** The database's time in microseconds since 1970. */
  readonly clock: number;
};

/** Takes a log: the process's own one again, one that was released, or a new one. */
export async function holdLog(
  database: Pick<Database, "query">,
  originPrefix: string,
  own: HeldLog | undefined,
): Promise<HeldLog> {
  const [row] = await database.query<Record<"id" | "epoch", number> & HoldRow>({
    text: "SELECT id, origin, epoch, size, last_number, edge, clock FROM hold_audit_log($1, $2, $3)",
    values: [originPrefix, own?.id ?? null, own?.epoch ?? null],
  });
  if (row === undefined) throw new Error("The database assigned no audit log");
  const { id, origin, epoch, size, last_number, edge, clock } = row;
  return {
    id,
    origin,
    epoch,
    size: Number(size),
    lastNumber: Number(last_number),
    edge: edge.map((hashes) => Uint8Array.from(hashes)),
    clock: Number(clock),
  };
}

type HoldRow = {
  readonly origin: string;
  readonly size: string;
  readonly last_number: string;
  readonly edge: readonly Buffer[];
  readonly clock: string;
};

export async function releaseLog(
  database: Pick<Database, "query">,
  { id, epoch }: Pick<HeldLog, "id" | "epoch">,
): Promise<void> {
  await database.query({ text: "SELECT release_audit_log($1, $2)", values: [id, epoch] });
}

/** Of all accounts. */
export async function findStreamEnds(
  database: Pick<Database, "query">,
  log: number,
  streams: readonly string[],
): Promise<readonly { readonly stream: string; readonly account: string; readonly index: number }[]> {
  const rows = await database.query<{ stream_id: string; account_id: string; last_index: string }>({
    text: "SELECT stream_id, account_id, last_index FROM find_stream_ends($1, $2)",
    values: [log, streams],
  });
  return rows.map((row) => ({
    stream: row.stream_id,
    account: row.account_id,
    index: Number(row.last_index),
  }));
}

/** Leaves in the order of their indexes, and what they add to streams and daily counts. */
export type NewLeaves = {
  readonly numbers: readonly number[];
  readonly previous: readonly (number | null)[];
  readonly writers: readonly number[] | null;
  readonly streams: readonly {
    readonly id: string;
    readonly account: string;
    readonly last: number;
    readonly added: number;
  }[];
  readonly counts: readonly {
    readonly account: string;
    readonly stream: string;
    readonly day: string;
    readonly outcome: AuditOutcome;
    readonly added: number;
  }[];
};

export type NewCheckpoint = {
  readonly oldSize: number;
  readonly note: string;
  readonly edge: readonly Uint8Array[];
  readonly tiles: readonly TileContent[];
};

/** False when the process no longer holds the log at this size, and then nothing is stored. */
export async function appendLeaves(
  database: Pick<Database, "query">,
  { id, epoch }: Pick<HeldLog, "id" | "epoch">,
  { checkpoint, leaves }: { readonly checkpoint: NewCheckpoint; readonly leaves: NewLeaves },
): Promise<boolean> {
  const encoded = {
    ...checkpoint,
    edge: checkpoint.edge.map(toBase64),
    tiles: checkpoint.tiles.map(({ level, index, hashes }) => ({ level, index, hashes: toBase64(hashes) })),
  };
  const [row] = await database.query<{ is_stored: boolean }>({
    name: "append-audit-leaves",
    text: "SELECT append_audit_leaves($1, $2, $3, $4) AS is_stored",
    values: [id, epoch, JSON.stringify(encoded), JSON.stringify(leaves)],
  });
  return row?.is_stored === true;
}

export type StreamRef = {
  readonly accountId: string;
  /** The id of a vault, or of the account. */
  readonly stream: string;
};

export async function hasVault(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
): Promise<boolean> {
  const rows = await database.queryInAccount(accountId, {
    name: "has-vault",
    text: "SELECT id FROM live_vault WHERE account_id = entered.account::uuid AND id = $2",
    values: [stream],
  });
  return rows.length === 1;
}

/** A record as it is listed. */
export type RecordRow = {
  readonly log_id: number;
  readonly number: string;
  readonly body: string | null;
  readonly subject_id: string | null;
  readonly revision: string | null;
};

export type RecordPage = {
  readonly before: number;
  readonly since: number;
  readonly limit: number;
  /** Each is in the bodies of the records. */
  readonly texts: readonly string[];
  /** How many records are searched for the texts. */
  readonly maxScanned: number;
};

/** Newest first, and a few more than the limit when the last ones have the same number. An erased body has no texts. */
export async function listRecords(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
  { before, since, limit, texts, maxScanned }: RecordPage,
): Promise<readonly RecordRow[]> {
  const columns = "log_id, number, body, subject_id, revision";
  return database.queryInAccount<RecordRow>(accountId, {
    name: "list-audit-records",
    text: `SELECT ${columns} FROM (SELECT ${columns} FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 AND number < $3 AND number >= $7 ORDER BY audit_record.number DESC LIMIT CASE WHEN cardinality($4::text[]) = 0 THEN $5::bigint + 100 ELSE $6::bigint END) AS newest WHERE NOT EXISTS (SELECT FROM unnest($4::text[]) AS wanted (text) WHERE strpos(coalesce(body, ''), wanted.text) = 0) ORDER BY newest.number DESC FETCH FIRST $5 ROWS WITH TIES`,
    values: [stream, before, texts, limit, maxScanned, since],
  });
}

/** The number of the last record that a search passes; undefined when it reaches the first one. */
export async function findScanEnd(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
  { before, since, maxScanned }: Pick<RecordPage, "before" | "since" | "maxScanned">,
): Promise<number | undefined> {
  const [row] = await database.queryInAccount<{ number: string }>(accountId, {
    name: "find-audit-scan-end",
    text: "SELECT last.number FROM (SELECT number FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 AND number < $3 AND number >= $5 ORDER BY audit_record.number DESC LIMIT 1 OFFSET $4::bigint - 1) AS last",
    values: [stream, before, maxScanned, since],
  });
  return row === undefined ? undefined : Number(row.number);
}

export type StreamEndRow = {
  readonly log_id: number;
  readonly origin: string;
  readonly last_index: string;
  readonly size: string;
  /** The leaves before it are archived. */
  readonly first_kept_index: string;
  readonly note: string;
  readonly edge: readonly Buffer[];
  readonly checkpoint_at: Date;
};

/** The logs in which the stream has leaves, with their latest checkpoints. */
export async function listStreamEnds(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
): Promise<readonly StreamEndRow[]> {
  return database.queryInAccount<StreamEndRow>(accountId, {
    name: "list-audit-stream-ends",
    text: "SELECT log.id AS log_id, log.origin, ended.last_index, log.size, log.first_kept_index, log.note, log.edge, log.checkpoint_at FROM audit_stream AS ended JOIN audit_log AS log ON log.id = ended.log_id WHERE ended.account_id = entered.account::uuid AND ended.stream_id = $2 ORDER BY log.id",
    values: [stream],
  });
}

export type DayRow = {
  readonly day: string;
  readonly read: string;
  readonly changed: string;
  readonly denied: string;
  readonly signed_in: string;
};

const count = (outcome: AuditOutcome): string =>
  `coalesce(sum(counted.count) FILTER (WHERE counted.outcome = '${outcome}'), 0)::text`;

export async function countByDay(
  database: Pick<Database, "queryInAccount">,
  { accountId, stream }: StreamRef,
  days: number,
): Promise<readonly DayRow[]> {
  return database.queryInAccount<DayRow>(accountId, {
    name: "count-audit-by-day",
    text: `SELECT to_char(calendar.day, 'YYYY-MM-DD') AS day, ${count("read")} AS read, ${count("changed")} AS changed, ${count("denied")} AS denied, ${count("signed-in")} AS signed_in FROM generate_series((now() AT TIME ZONE 'UTC')::date - $3::int + 1, (now() AT TIME ZONE 'UTC')::date, interval '1 day') AS calendar (day) LEFT JOIN audit_count AS counted ON counted.account_id = entered.account::uuid AND counted.chain_id = $2 AND counted.day = calendar.day::date GROUP BY calendar.day ORDER BY calendar.day`,
    values: [stream, days],
  });
}

const monthsAhead = 2;

/** Records of a month without a partition could not be inserted. */
export async function createPartitions(database: Pick<Database, "query">): Promise<void> {
  await database.query({ text: "SELECT create_audit_partitions($1)", values: [monthsAhead] });
}

/** Records by their numbers: at least `since` and below `until`. */
export type NumberRange = { readonly since: number; readonly until: number };

/** The range in which records may be without a leaf; undefined while another node adopts some. */
export async function lockAdoption(
  transaction: Transaction,
  minAgeSeconds: number,
): Promise<NumberRange | undefined> {
  const [row] = await transaction.query<{ since: string; until: string }>({
    text: "SELECT adopted_until AS since, ((extract(epoch FROM clock_timestamp()) - $1::integer) * 1000000)::bigint AS until FROM audit_adoption WHERE pg_try_advisory_xact_lock(4711300830)",
    values: [minAgeSeconds],
  });
  if (row === undefined || Number(row.since) >= Number(row.until)) return undefined;
  return { since: Number(row.since), until: Number(row.until) };
}

/** A record with the hash of its body instead of the body. */
export type HashedRow = {
  readonly log_id: number;
  readonly number: string;
  readonly account_id: string;
  readonly stream_id: string;
  readonly outcome: AuditOutcome;
  readonly subject_id: string | null;
  readonly revision: string | null;
  readonly body_hash: Buffer | null;
  readonly mac: Buffer;
};

/** Records of the range that are leaves of no log. A leaf is in a batch that was stored after its record. */
export async function listUnloggedRecords(
  database: Pick<Database, "acrossAccounts">,
  { since, until }: NumberRange,
): Promise<readonly HashedRow[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<HashedRow>({
      text: "WITH leaves AS MATERIALIZED (SELECT leaf.number, coalesce(leaf.writer, batch.log_id) AS log_id FROM audit_batch AS batch CROSS JOIN LATERAL unnest(batch.numbers, batch.writers) AS leaf (number, writer) WHERE batch.at >= to_timestamp($1 / 1000000.0) - interval '1 minute') SELECT record.log_id, record.number, record.account_id, record.stream_id, record.outcome, record.subject_id, record.revision, record.body_hash, record.mac FROM audit_record_hash AS record WHERE record.number >= $1 AND record.number < $2 AND NOT EXISTS (SELECT FROM leaves WHERE leaves.number = record.number AND leaves.log_id = record.log_id)",
      values: [since, until],
    }),
  );
}

export async function setAdoptedUntil(transaction: Transaction, number: number): Promise<void> {
  await transaction.query({ text: "SELECT set_adopted_until($1)", values: [number] });
}

/** Deleted accounts whose records still have contents. */
export async function listAccountsToErase(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly string[]> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query<{ account_id: string }>({
      text: "SELECT account_id FROM account WHERE status = 'deleted' AND audit_erased_at IS NULL LIMIT 100",
    }),
  );
  return rows.map(({ account_id }) => account_id);
}

/** The record of the account's deletion, in the account's own stream. */
export async function findDeletionRecords(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly HashedRow[]> {
  return database.queryInAccount<HashedRow>(accountId, {
    text: `SELECT log_id, number, account_id, stream_id, outcome, subject_id, revision, mac, sha256(convert_to(body, 'UTF8')) AS body_hash FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = entered.account::uuid AND strpos(body, '"type":"account-deleted"') > 0 ORDER BY audit_record.number DESC LIMIT 5`,
  });
}

/** Replaces the contents of an account's records before this number by their hashes; with the rights of the owner. */
export async function eraseBodies(
  transaction: Transaction,
  accountId: string,
  before: number,
): Promise<void> {
  await transaction.query({
    text: "SELECT set_config('keep.account_id', $1, true)",
    values: [accountId],
  });
  await transaction.query({
    text: "UPDATE audit_record SET body_hash = sha256(convert_to(body, 'UTF8')), body = NULL WHERE account_id = $1 AND number < $2 AND body IS NOT NULL AND stream_id IN (SELECT stream_id FROM audit_stream WHERE account_id = $1)",
    values: [accountId, before],
  });
  await transaction.query({
    text: "UPDATE audit_event SET body = NULL WHERE account_id = $1 AND body IS NOT NULL AND chain_id IN (SELECT id FROM audit_chain WHERE account_id = $1)",
    values: [accountId],
  });
  // Until then another node may still have a record of a stream that is not in any log yet.
  await transaction.query({
    text: "UPDATE account SET audit_erased_at = now() WHERE account_id = $1 AND $2 < (SELECT adopted_until FROM audit_adoption)",
    values: [accountId, before],
  });
}
