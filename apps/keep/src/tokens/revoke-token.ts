import type { Recorded } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { awaitForgotten } from "../cluster/await-revocation.ts";
import { tellNodes } from "../cluster/queries.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { changeOnce, type Once } from "../idempotency/change-once.ts";
import type { TokenParts } from "./mint-token.ts";
import { endTokens, findRoutes, lockTokens, readTokenRow, type TokenRoute } from "./queries.ts";
import { hashToken, readToken } from "./token-format.ts";

export type RevokeParts = TokenParts & { readonly database: Pick<Database, "ask" | "inAccount"> };

type Revocation = {
  readonly tokenId: string;
  /** Whether to settle only when no node takes the token any more. */
  readonly waitsForAll: boolean;
  readonly once: Once | undefined;
};

/** The token and all that were made with it end; one that has ended before stays as it is. */
export async function revokeToken(
  actor: Actor,
  { tokenId, waitsForAll, once }: Revocation,
  parts: RevokeParts,
): Promise<void> {
  const place = { accountId: actor.accountId, tokenId };
  await changeOnce(parts.database, { actor, once }, async (transaction) => {
    const row = await readTokenRow(transaction, place);
    if (row === undefined) throw requestFailure({ kind: "not-found" });
    await endFamily(transaction, { place, reason: "asked", by: actor }, parts);
    return {};
  });
  if (waitsForAll) await awaitForgotten(parts.database);
}

export type LeakReport = { readonly checked: number; readonly revoked: number };

/** Ends every token among the texts, whoever brings them: who has a token could use it, so they may as well end it. */
export async function revokeLeaked(texts: readonly string[], parts: RevokeParts): Promise<LeakReport> {
  const distinct = new Set(texts.map((text) => text.trim()));
  const hashes = [...distinct].flatMap((text) => readToken(text) ?? []).map(hashToken);
  const routes = hashes.length === 0 ? [] : await findRoutes(parts.database, hashes);
  let revoked = 0;
  for (const place of new Map(routes.map((route) => [route.tokenId, route])).values()) {
    const ended = await parts.database.inAccount(place.accountId, (transaction) =>
      endFamily(transaction, { place, reason: "leaked", by: "server" }, parts),
    );
    if (ended > 0) revoked += 1;
  }
  return { checked: texts.length, revoked };
}

type Ending = { readonly place: TokenRoute; readonly reason: "asked" | "leaked"; readonly by: Recorded };

/** Gives how many held until now. */
async function endFamily(
  transaction: Transaction,
  { place, reason, by }: Ending,
  { audit }: Pick<TokenParts, "audit">,
): Promise<number> {
  await lockTokens(transaction, place.accountId);
  const ended = await endTokens(transaction, place, reason);
  for (const token of ended) {
    const event = { type: "token-revoked", token: token.id, reason: token.reason } as const;
    await audit.record(transaction, { chain: place.accountId, by, event });
  }
  const revoked = ended.map(({ id }) => ({ kind: "token", subjectId: id }) as const);
  if (revoked.length > 0) await tellNodes(transaction, place.accountId, revoked);
  return ended.length;
}
