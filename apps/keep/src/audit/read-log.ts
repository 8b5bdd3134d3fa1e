import { type AuditLink, CanonicalFormError, canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import type { Actor } from "../authorization/actor.ts";
import { allowsPath, allowsVault } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import { isId } from "../generate-id.ts";
import { type ChainRef, hasVault, type LinkRow, listLinks, readHead } from "./queries.ts";

export type LogReader = Pick<Database, "askInAccount">;

/**
 * The chain of this vault, or the account's when none is named. A chain is read whole or not at all: a token that is
 * limited to some vaults does not see the account's, one that is limited to some paths sees none.
 */
export async function findChain(
  actor: Actor,
  vaultId: string | undefined,
  database: LogReader,
): Promise<ChainRef> {
  const place = { accountId: actor.accountId, chain: vaultId ?? actor.accountId };
  const isThere =
    vaultId === undefined
      ? actor.grant.vaultIds === undefined
      : isId(vaultId) && allowsVault(actor.grant, vaultId) && (await hasVault(database, place));
  if (!isThere) throw requestFailure({ kind: "not-found" });
  if (!allowsPath(actor.grant, "/**")) throw requestFailure({ kind: "out-of-reach", path: "/**" });
  return place;
}

export type PageRequest = {
  readonly limit: number;
  readonly before: number | undefined;
  readonly type: string | undefined;
};

export type LogAnswer = { readonly items: readonly AuditLink[]; readonly nextBefore: number | undefined };

/** A rare type is looked for in so many links at a time; the page says where to go on. */
const mostLookedAt = 50_000;

export async function readLog(
  place: ChainRef,
  { limit, before, type }: PageRequest,
  database: LogReader,
): Promise<LogAnswer> {
  const head = Number((await readHead(database, place))?.seq ?? 0);
  const start = Math.min(before ?? head + 1, head + 1);
  const from = type === undefined ? 1 : Math.max(1, start - mostLookedAt);
  const rows = await listLinks(database, place, { before: start, limit, type, from });
  const lowest = rows.length === limit ? Number(rows.at(-1)?.seq) : from;
  return { items: rows.map(describeLink), nextBefore: lowest > 1 ? lowest : undefined };
}

/** A body that somebody made unreadable is shown as the text it is; it does not verify, and that is what is told. */
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
    // What JSON.parse gives is JSON.
    const body = JSON.parse(text) as Json;
    canonicalJson(body);
    return body;
  } catch (problem) {
    if (problem instanceof SyntaxError || problem instanceof CanonicalFormError) return text;
    throw problem;
  }
}
