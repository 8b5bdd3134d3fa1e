import { type AuditLink, CanonicalFormError, canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import type { Actor } from "../authorization/actor.ts";
import { allowsVault, assertFolderAllowed } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import { type ChainRef, hasVault, type LinkRow, listLinks, readHead } from "./queries.ts";

export type LogReader = Pick<Database, "queryInAccount">;

/**
 * The vault's chain, or the account's without a vault id. Chains are not filtered, so a token restricted to vaults cannot
 * read the account's chain, and one restricted to paths cannot read any.
 */
export async function findChain(
  actor: Actor,
  vaultId: string | undefined,
  database: LogReader,
): Promise<ChainRef> {
  const chainRef = { accountId: actor.accountId, chain: vaultId ?? actor.accountId };
  const isVisible =
    vaultId === undefined
      ? actor.grant.vaultIds === undefined
      : isId(vaultId) && allowsVault(actor.grant, vaultId) && (await hasVault(database, chainRef));
  if (!isVisible) throw requestFailure({ kind: "not-found" });
  assertFolderAllowed(actor.grant, "/");
  return chainRef;
}

export type PageRequest = {
  readonly limit: number;
  readonly before: number | undefined;
  readonly type: string | undefined;
};

export type LogResult = { readonly items: readonly AuditLink[]; readonly nextBefore: number | undefined };

/** Bounds the scan for a rare event type; the response contains where to continue. */
const maxScannedLinks = 50_000;

export async function readLog(
  chainRef: ChainRef,
  { limit, before, type }: PageRequest,
  database: LogReader,
): Promise<LogResult> {
  const head = Number((await readHead(database, chainRef))?.seq ?? 0);
  const start = Math.min(before ?? head + 1, head + 1);
  const from = type === undefined ? 1 : Math.max(1, start - maxScannedLinks);
  const rows = await listLinks(database, chainRef, { before: start, limit, type, from });
  const lowest = rows.length === limit ? Number(rows.at(-1)?.seq) : from;
  return { items: rows.map(describeLink), nextBefore: lowest > 1 ? lowest : undefined };
}

/** A body that is not canonical JSON was tampered with; it is returned as text, and verification reports it. */
export function describeLink(row: LinkRow): AuditLink {
  return {
    ...row,
    seq: Number(row.seq),
    body: row.body === null ? null : readBody(row.body),
    revision: row.revision === null ? null : Number(row.revision),
  };
}

function readBody(text: string): Json {
  try {
    // JSON.parse returns only JSON values.
    const body = JSON.parse(text) as Json;
    canonicalJson(body);
    return body;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof CanonicalFormError) return text;
    throw error;
  }
}
