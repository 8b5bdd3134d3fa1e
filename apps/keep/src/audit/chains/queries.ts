import type { Database } from "../../database/open-database.ts";
import type { Transaction } from "../../database/transaction.ts";

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

export type LinkPage = {
  readonly before: number;
  readonly limit: number;
  /** Each is in the bodies of the events. */
  readonly texts: readonly string[];
  /** Microseconds since 1970: the first time that is listed, and the first later one that is not. */
  readonly since: number;
  readonly until: number;
  /** The lowest sequence number to scan. */
  readonly from: number;
};

/** Newest first. */
export async function listLinks(
  database: Pick<Database, "queryInAccount">,
  { accountId, chain }: ChainRef,
  { before, limit, texts, since, until, from }: LinkPage,
): Promise<readonly LinkRow[]> {
  return database.queryInAccount<LinkRow>(accountId, {
    name: "list-audit-links",
    text: `SELECT ${linkColumns} FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = $2 AND seq < $3 AND seq >= $4 AND extract(epoch FROM at) * 1000000 >= $7::bigint AND extract(epoch FROM at) * 1000000 < $8::bigint AND NOT EXISTS (SELECT FROM unnest($5::text[]) AS wanted (text) WHERE strpos(coalesce(body, ''), wanted.text) = 0) ORDER BY audit_event.seq DESC LIMIT $6`,
    values: [chain, before, from, texts, limit, since, until],
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

export type StoredChain = ChainRef & { readonly hash: string; readonly isCarriedOver: boolean };

/** Chains of all accounts, a page at a time. */
export async function listAllChains(
  database: Pick<Database, "acrossAccounts">,
  after: string | null,
): Promise<readonly StoredChain[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<StoredChain>({
      text: `SELECT account_id AS "accountId", id AS chain, encode(hash, 'hex') AS hash, is_carried_over AS "isCarriedOver" FROM audit_chain WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT 500`,
      values: [after],
    }),
  );
}

/** Chains whose end is not in the log yet. */
export async function listChainsLeft(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly ChainRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<ChainRef>({
      text: `SELECT account_id AS "accountId", id AS chain FROM audit_chain WHERE NOT is_carried_over ORDER BY id LIMIT 200`,
    }),
  );
}

/** The end of a chain, which counts as carried over from then on; undefined when another node did so before. */
export async function takeChainEnd(transaction: Transaction, chain: string): Promise<ChainHead | undefined> {
  const [row] = await transaction.query<ChainHead>({
    text: "SELECT seq, encode(hash, 'hex') AS hash FROM carry_over_chain($1)",
    values: [chain],
  });
  return row;
}
