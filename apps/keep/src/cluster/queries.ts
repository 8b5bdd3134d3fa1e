import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { Revoked } from "./cache-invalidation.ts";

/** A node that has not reported for so long trusts nothing it remembers, so nobody needs to wait for it. */
const isAlive = "heartbeat_at > now() - interval '10 seconds'";
const patience = { query_timeout: 2000 };

export type Heard = {
  /** Everything that was committed before this moment is in here, or was heard before. */
  readonly moment: string;
  readonly milliseconds: number;
  /** What the next reading begins with: the oldest transaction that was still under way. */
  readonly horizon: string;
  readonly revoked: readonly (Revoked & { readonly seq: number })[];
};

/**
 * What was revoked by transactions that the last reading could not see. Their numbers decide, not the rows' moments: a
 * commit may wait for a standby much longer than any window of time.
 */
export async function readRevoked(
  database: Pick<Database, "ask">,
  horizon: string | null,
  most: number,
): Promise<Heard> {
  const [row] = await database.ask<Heard>({
    ...patience,
    name: "read-revoked",
    text: `SELECT statement_timestamp()::text AS moment, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS milliseconds, pg_snapshot_xmin(pg_current_snapshot())::xid::text AS horizon,
      (SELECT coalesce(json_agg(json_build_object('seq', seq, 'kind', kind, 'subjectId', subject_id)), '[]'::json) FROM (SELECT seq, kind, subject_id FROM revocation WHERE at > now() - interval '15 minutes' AND age(xmin) <= age($1::text::xid) LIMIT $2) AS fresh) AS revoked`,
    values: [horizon, most],
  });
  if (row === undefined) throw new Error("One row was asked for");
  return row;
}

/** Says that this node lives and what it has forgotten; gives the number of nodes that live. */
export async function reportNode(
  database: Pick<Database, "ask">,
  { id, forgottenUntil }: { readonly id: string; readonly forgottenUntil: string },
): Promise<number> {
  const [row] = await database.ask<{ others: number }>({
    ...patience,
    name: "report-node",
    text: `WITH mine AS (INSERT INTO node (id, forgotten_until) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), forgotten_until = greatest(node.forgotten_until, excluded.forgotten_until)),
      gone AS (DELETE FROM node WHERE id <> $1 AND heartbeat_at < now() - interval '60 seconds')
      SELECT count(*)::integer AS others FROM node WHERE id <> $1 AND ${isAlive}`,
    values: [id, forgottenUntil],
  });
  return 1 + (row?.others ?? 0);
}

export async function removeNode(database: Pick<Database, "ask">, id: string): Promise<void> {
  await database.ask({ ...patience, text: "DELETE FROM node WHERE id = $1", values: [id] });
}

/** Long after every node has read them. */
export async function removeOldRevocations(database: Pick<Database, "ask">): Promise<void> {
  await database.ask({ ...patience, text: "DELETE FROM revocation WHERE at < now() - interval '1 day'" });
}

/** In the transaction that revokes, as its last statement; heard when it commits. */
export async function notifyNodes(
  transaction: Transaction,
  accountId: string,
  revoked: readonly Revoked[],
): Promise<void> {
  await transaction.query({
    name: "tell-nodes",
    text: "WITH told AS (INSERT INTO revocation (kind, account_id, subject_id) SELECT kind, $1, subject FROM unnest($2::text[], $3::uuid[]) AS revoked (kind, subject)) SELECT pg_notify('keep_revocation', '')",
    values: [accountId, revoked.map(({ kind }) => kind), revoked.map(({ subjectId }) => subjectId)],
  });
}

export async function readDatabaseMoment(database: Pick<Database, "ask">): Promise<string> {
  const [row] = await database.ask<{ moment: string }>({
    ...patience,
    text: "SELECT clock_timestamp()::text AS moment",
  });
  return row?.moment ?? "infinity";
}

/** How many living nodes may still remember what was revoked before this moment. */
export async function countBehind(database: Pick<Database, "ask">, moment: string): Promise<number> {
  const [row] = await database.ask<{ behind: number }>({
    ...patience,
    name: "count-nodes-behind",
    text: `SELECT count(*)::integer AS behind FROM node WHERE ${isAlive} AND forgotten_until <= $1`,
    values: [moment],
  });
  return row?.behind ?? 1;
}
