import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { Revocation } from "./cache-invalidation.ts";

/** A node without a recent heartbeat does not use its caches, so revocations need not wait for it. */
const isAlive = "heartbeat_at > now() - interval '10 seconds'";
const queryTimeout = { query_timeout: 2000 };

export type RevocationPage = {
  /** Every revocation committed before this time is in this page or an earlier one. */
  readonly readAt: string;
  readonly databaseMilliseconds: number;
  /** The oldest transaction still running; the next poll starts from it. */
  readonly horizon: string;
  readonly revoked: readonly (Revocation & { readonly seq: number })[];
};

/**
 * Revocations by transactions that the last poll could not see. Selected by transaction id, not by time: a commit may
 * wait for a standby longer than any time window.
 */
export async function readRevocations(
  database: Pick<Database, "query">,
  horizon: string | null,
  limit: number,
): Promise<RevocationPage> {
  const [row] = await database.query<RevocationPage>({
    ...queryTimeout,
    name: "read-revoked",
    text: `SELECT statement_timestamp()::text AS "readAt", (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "databaseMilliseconds", pg_snapshot_xmin(pg_current_snapshot())::xid::text AS horizon,
      (SELECT coalesce(json_agg(json_build_object('seq', seq, 'kind', kind, 'subjectId', subject_id)), '[]'::json) FROM (SELECT seq, kind, subject_id FROM revocation WHERE at > now() - interval '15 minutes' AND age(xmin) <= age($1::text::xid) LIMIT $2) AS fresh) AS revoked`,
    values: [horizon, limit],
  });
  if (row === undefined) throw new Error("Query returned no row");
  return row;
}

/** Heartbeat: also stores up to when this node has processed revocations. Returns the number of live nodes. */
export async function reportNode(
  database: Pick<Database, "query">,
  { id, invalidatedUntil }: { readonly id: string; readonly invalidatedUntil: string },
): Promise<number> {
  const [row] = await database.query<{ others: number }>({
    ...queryTimeout,
    name: "report-node",
    text: `WITH mine AS (INSERT INTO node (id, forgotten_until) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), forgotten_until = greatest(node.forgotten_until, excluded.forgotten_until)),
      gone AS (DELETE FROM node WHERE id <> $1 AND heartbeat_at < now() - interval '60 seconds')
      SELECT count(*)::integer AS others FROM node WHERE id <> $1 AND ${isAlive}`,
    values: [id, invalidatedUntil],
  });
  return 1 + (row?.others ?? 0);
}

export async function removeNode(database: Pick<Database, "query">, id: string): Promise<void> {
  await database.query({ ...queryTimeout, text: "DELETE FROM node WHERE id = $1", values: [id] });
}

/** A day is long after every live node has read them. */
export async function removeOldRevocations(database: Pick<Database, "query">): Promise<void> {
  await database.query({
    ...queryTimeout,
    text: "DELETE FROM revocation WHERE at < now() - interval '1 day'",
  });
}

/** Publishes revocations. Must be the transaction's last statement; nodes are notified when it commits. */
export async function notifyNodes(
  transaction: Transaction,
  accountId: string,
  revocations: readonly Revocation[],
): Promise<void> {
  await transaction.query({
    name: "notify-nodes",
    text: "WITH published AS (INSERT INTO revocation (kind, account_id, subject_id) SELECT kind, $1, subject FROM unnest($2::text[], $3::uuid[]) AS revoked (kind, subject)) SELECT pg_notify('keep_revocation', '')",
    values: [accountId, revocations.map(({ kind }) => kind), revocations.map(({ subjectId }) => subjectId)],
  });
}

export async function readDatabaseTime(database: Pick<Database, "query">): Promise<string> {
  const [row] = await database.query<{ now: string }>({
    ...queryTimeout,
    text: "SELECT clock_timestamp()::text AS now",
  });
  return row?.now ?? "infinity";
}

/** Live nodes that have not processed all revocations committed before this time. */
export async function countLaggingNodes(database: Pick<Database, "query">, before: string): Promise<number> {
  const [row] = await database.query<{ behind: number }>({
    ...queryTimeout,
    name: "count-nodes-behind",
    text: `SELECT count(*)::integer AS behind FROM node WHERE ${isAlive} AND forgotten_until <= $1`,
    values: [before],
  });
  return row?.behind ?? 1;
}
