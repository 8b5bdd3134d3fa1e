import type { Json } from "@hearth-and-keep/audit-chain";
import { timestampOf } from "@hearth-and-keep/audit-records";
import type { Actor } from "../authorization/actor.ts";
import { allowsReach, assertAccountAllowed, assertFolderAllowed, vaultsOf } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import { describeLink, parseBody } from "./chains/describe-link.ts";
import { listLinks, readHead } from "./chains/queries.ts";
import { findScanEnd, hasVault, listRecords, type RecordRow, type StreamRef } from "./queries.ts";
import type { RecordFilter } from "./record-filter.ts";

export type LogReader = Pick<Database, "queryInAccount">;

const scope = "audit:read" as const;

/**
 * The vault's stream, or the account's without a vault id. Streams are not filtered, so a token restricted to vaults
 * cannot read the account's stream, and one restricted to paths cannot read any.
 */
export async function findStream(
  actor: Actor,
  vaultId: string | undefined,
  database: LogReader,
): Promise<StreamRef> {
  const streamRef = { accountId: actor.accountId, stream: vaultId ?? actor.accountId };
  if (vaultId === undefined) {
    if (vaultsOf(actor.grant, scope) !== undefined) throw requestFailure({ kind: "not-found" });
    assertAccountAllowed(actor.grant, scope);
    return streamRef;
  }
  const reach = { scope, vaultId };
  const isVisible = isId(vaultId) && allowsReach(actor.grant, reach) && (await hasVault(database, streamRef));
  if (!isVisible) throw requestFailure({ kind: "not-found" });
  assertFolderAllowed(actor.grant, reach, "/");
  return streamRef;
}

export type PageRequest = {
  readonly limit: number;
  readonly before: number | undefined;
  readonly filter: RecordFilter;
};

/** A record of the log; events of a chain in the old format have log 0 and their place in the chain as number. */
type ListedRecord = {
  readonly log: number;
  readonly number: number;
  readonly at: string;
  readonly body: Json;
  readonly subject_id: string | null;
  readonly revision: number | null;
};

export type LogPage = {
  readonly items: readonly ListedRecord[];
  readonly nextBefore: number | undefined;
};

/** Bounds the search for rare events; the response contains where to continue. */
const maxScanned = 50_000;
/** Higher than every place in a chain, and lower than every number of a record: in microseconds, a day in 1970. */
const leastNumber = 1_000_000_000_000;

/** Newest first; after the first record of the log, the chain in the old format, if there is one. */
export async function readLog(
  streamRef: StreamRef,
  { limit, before = Number.MAX_SAFE_INTEGER, filter }: PageRequest,
  database: LogReader,
): Promise<LogPage> {
  if (before <= leastNumber) return readChain(streamRef, { limit, before, filter }, database);
  const { texts, since = 0, until = Number.MAX_SAFE_INTEGER } = filter;
  const searched = { before: Math.min(before, until), since, maxScanned };
  const rows = await listRecords(database, streamRef, { ...searched, limit, texts });
  const items = rows.map(describeRecord);
  if (rows.length >= limit) return { items, nextBefore: items.at(-1)?.number };
  const scanEnd = texts.length === 0 ? undefined : await findScanEnd(database, streamRef, searched);
  if (scanEnd !== undefined) return { items, nextBefore: scanEnd };
  const { accountId, stream: chain } = streamRef;
  const head = await readHead(database, { accountId, chain });
  return { items, nextBefore: head === undefined ? undefined : Number(head.seq) + 1 };
}

async function readChain(
  { accountId, stream: chain }: StreamRef,
  { limit, before, filter }: PageRequest & { readonly before: number },
  database: LogReader,
): Promise<LogPage> {
  const chainRef = { accountId, chain };
  const head = Number((await readHead(database, chainRef))?.seq ?? 0);
  const start = Math.min(before, head + 1);
  const { texts, since = 0, until = Number.MAX_SAFE_INTEGER } = filter;
  const isSearched = texts.length > 0 || filter.since !== undefined || filter.until !== undefined;
  const from = isSearched ? Math.max(1, start - maxScanned) : 1;
  const rows = await listLinks(database, chainRef, { before: start, limit, texts, since, until, from });
  const items = rows.map(describeLink).map(({ seq, at, body, subject_id, revision }) => ({
    log: 0,
    number: seq,
    at,
    body,
    subject_id,
    revision,
  }));
  const lowest = rows.length === limit ? Number(rows.at(-1)?.seq) : from;
  return { items, nextBefore: lowest > 1 ? lowest : undefined };
}

function describeRecord({ log_id, number, body, subject_id, revision }: RecordRow): ListedRecord {
  return {
    log: log_id,
    number: Number(number),
    at: timestampOf(Number(number)),
    body: body === null ? null : parseBody(body),
    subject_id,
    revision: revision === null ? null : Number(revision),
  };
}
