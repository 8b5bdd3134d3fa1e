import type { Checkpoint } from "@hearth-and-keep/audit-chain";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { AuditOutcome } from "./events.ts";

export type NewEvent = {
  readonly body: string;
  readonly outcome: AuditOutcome;
  readonly subject?: { readonly id: string; readonly revision: number } | undefined;
};

export async function appendEvents(
  transaction: Transaction,
  chain: string,
  events: readonly NewEvent[],
): Promise<void> {
  await transaction.query({
    name: "append-audit",
    text: "SELECT append_audit($1, $2, $3, $4, $5)",
    values: [chain, ...columnsOf(events)],
  });
}

/** As `appendEvents`, in its own transaction of a single statement: one round trip, durable when it returns. */
export async function appendInOwnTransaction(
  database: Pick<Database, "appendInAccount">,
  { accountId, chain }: { readonly accountId: string; readonly chain: string },
  events: readonly NewEvent[],
): Promise<void> {
  await database.appendInAccount(accountId, {
    name: "append-audit-standalone",
    text: "SELECT append_audit($2, $3, $4, $5, $6) AS seq WHERE entered.account IS NOT NULL",
    values: [chain, ...columnsOf(events)],
  });
}

function columnsOf(events: readonly NewEvent[]): readonly unknown[] {
  return [
    events.map(({ body }) => body),
    events.map(({ outcome }) => outcome),
    events.map(({ subject }) => subject?.id ?? null),
    events.map(({ subject }) => subject?.revision ?? null),
  ];
}

/** One link of a chain, with the field names of the export format. */
export type LinkRow = {
  readonly seq: string;
  readonly at: string;
  readonly previous: string;
  readonly body_hash: string;
  readonly hash: string;
  readonly body: string | null;
  readonly subject_id: string | null;
  readonly revision: string | null;
};

const formatTimestamp = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const linkColumns = `seq, ${formatTimestamp("at")} AS at, encode(previous, 'hex') AS previous, encode(body_hash, 'hex') AS body_hash, encode(hash, 'hex') AS hash, body, subject_id, revision`;

export type ChainRef = { readonly accountId: string; readonly chain: string };

export async function hasVault(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
): Promise<boolean> {
  const rows = await database.queryInAccount(accountId, {
    name: "has-vault",
    text: "SELECT id FROM live_vault WHERE account_id = entered.account::uuid AND id = $2",
    values: [chain],
  });
  return rows.length === 1;
}

export type LogPage = {
  readonly before: number;
  readonly limit: number;
  readonly type: string | undefined;
  /** The lowest sequence number to scan. */
  readonly from: number;
};

/** Newest first. JSON escapes quotes inside strings, so the substring search for the type has no false positives. */
export async function listLinks(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
  { before, limit, type, from }: LogPage,
): Promise<readonly LinkRow[]> {
  return database.queryInAccount<LinkRow>(accountId, {
    name: "list-audit-links",
    text: `SELECT ${linkColumns} FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = $2 AND seq < $3 AND seq >= $4 AND ($5::text IS NULL OR strpos(body, $5) > 0) ORDER BY audit_event.seq DESC LIMIT $6`,
    values: [chain, before, from, type === undefined ? null : `"type":"${type}"`, limit],
  });
}

export type ChainHead = { readonly seq: string; readonly hash: string };

export async function readHead(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
): Promise<ChainHead | undefined> {
  const [row] = await database.queryInAccount<ChainHead>(accountId, {
    name: "read-audit-head",
    text: "SELECT seq, encode(hash, 'hex') AS hash FROM audit_chain WHERE account_id = entered.account::uuid AND id = $2",
    values: [chain],
  });
  return row;
}

export type CheckpointRow = {
  readonly seq: string;
  readonly hash: string;
  readonly at: Date;
  readonly key_version: number;
  readonly signature: string;
};

const checkpointColumns =
  "seq, encode(hash, 'hex') AS hash, at, key_version, encode(signature, 'base64') AS signature";

export async function listCheckpoints(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
  { before, limit }: Pick<LogPage, "before" | "limit">,
): Promise<readonly CheckpointRow[]> {
  const rows = await database.queryInAccount<CheckpointRow>(accountId, {
    name: "list-audit-checkpoints",
    text: `SELECT ${checkpointColumns} FROM audit_checkpoint WHERE account_id = entered.account::uuid AND chain_id = $2 AND seq < $3 ORDER BY audit_checkpoint.seq DESC LIMIT $4`,
    values: [chain, before, limit],
  });
  return rows.map(withoutLineBreaks);
}

type SeqRange = { readonly after: number; readonly upTo: number };

/** Links and checkpoints of the range, oldest first. */
export async function readRange(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
  { after, upTo }: SeqRange,
): Promise<{ readonly links: readonly LinkRow[]; readonly checkpoints: readonly CheckpointRow[] }> {
  const [links, checkpoints] = await Promise.all([
    database.queryInAccount<LinkRow>(accountId, {
      name: "read-audit-range",
      text: `SELECT ${linkColumns} FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = $2 AND seq > $3 AND seq <= $4 ORDER BY audit_event.seq`,
      values: [chain, after, upTo],
    }),
    database.queryInAccount<CheckpointRow>(accountId, {
      name: "read-checkpoint-range",
      text: `SELECT ${checkpointColumns} FROM audit_checkpoint WHERE account_id = entered.account::uuid AND chain_id = $2 AND seq > $3 AND seq <= $4 ORDER BY audit_checkpoint.seq`,
      values: [chain, after, upTo],
    }),
  ]);
  return { links, checkpoints: checkpoints.map(withoutLineBreaks) };
}

/** PostgreSQL wraps base64 after 76 characters. */
function withoutLineBreaks(row: CheckpointRow): CheckpointRow {
  return { ...row, signature: row.signature.replaceAll("\n", "") };
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
  { accountId, chain }: ChainRef,
  days: number,
): Promise<readonly DayRow[]> {
  return database.queryInAccount<DayRow>(accountId, {
    name: "count-audit-by-day",
    text: `SELECT to_char(calendar.day, 'YYYY-MM-DD') AS day, ${count("read")} AS read, ${count("changed")} AS changed, ${count("denied")} AS denied, ${count("signed-in")} AS signed_in FROM generate_series((now() AT TIME ZONE 'UTC')::date - $3::int + 1, (now() AT TIME ZONE 'UTC')::date, interval '1 day') AS calendar (day) LEFT JOIN audit_count AS counted ON counted.account_id = entered.account::uuid AND counted.chain_id = $2 AND counted.day = calendar.day::date GROUP BY calendar.day ORDER BY calendar.day`,
    values: [chain, days],
  });
}

export type UncheckedChain = ChainRef & { readonly at: string };

/** Chains with at least this many links since their last checkpoint, least recently changed first. */
export async function listUncheckedChains(
  database: Pick<Database, "acrossAccounts">,
  minUnchecked: number,
  after: UncheckedChain | undefined,
): Promise<readonly UncheckedChain[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<UncheckedChain>({
      text: `SELECT account_id AS "accountId", id AS chain, at::text AS at FROM audit_chain WHERE checkpoint_seq < seq AND seq - checkpoint_seq >= $1 AND ($2::timestamptz IS NULL OR (at, id) > ($2, $3)) ORDER BY audit_chain.at, id LIMIT 200`,
      values: [minUnchecked, after?.at ?? null, after?.chain ?? null],
    }),
  );
}

/** The head of a chain whose checkpoint is due; undefined when another node has created it in the meantime. */
export async function readUncheckedHead(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
  { maxUncheckedEvents, seconds }: { readonly maxUncheckedEvents: number; readonly seconds: number },
): Promise<ChainHead | undefined> {
  const [row] = await database.queryInAccount<ChainHead>(accountId, {
    name: "read-unchecked-head",
    text: "SELECT head.seq, encode(head.hash, 'hex') AS hash FROM audit_chain AS head WHERE head.account_id = entered.account::uuid AND head.id = $2 AND head.checkpoint_seq < head.seq AND (head.seq - head.checkpoint_seq >= $3 OR NOT EXISTS (SELECT FROM audit_checkpoint AS latest WHERE latest.account_id = head.account_id AND latest.chain_id = head.id AND latest.seq = head.checkpoint_seq AND latest.at > now() - make_interval(secs => $4)))",
    values: [chain, maxUncheckedEvents, seconds],
  });
  return row;
}

export async function recordCheckpoint(
  database: Pick<Database, "inAccount">,
  { accountId, chain }: ChainRef,
  { seq, hash, key_version, signature }: Omit<Checkpoint, "chain">,
): Promise<void> {
  await database.inAccount(accountId, (transaction) =>
    transaction.query({
      text: "SELECT record_checkpoint($1, $2, decode($3, 'hex'), $4, decode($5, 'base64'))",
      values: [chain, seq, hash, key_version, signature],
    }),
  );
}

/** Chains of all accounts, a page at a time. */
export async function listAllChains(
  database: Pick<Database, "acrossAccounts">,
  after: string | null,
): Promise<readonly ChainRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<ChainRef>({
      text: `SELECT account_id AS "accountId", id AS chain FROM audit_chain WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT 500`,
      values: [after],
    }),
  );
}
