import type { AuditActor, AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { awaitRevocation } from "../cluster/await-revocation.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type IdempotencyKey, runIdempotent } from "../idempotency/run-idempotent.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { assertMayManage, type TokenDependencies } from "./create-token.ts";
import { findRoutes, type RevokedToken, readTokenRow, revokeTokens, type TokenRoute } from "./queries.ts";
import { hashToken, parseToken } from "./token-format.ts";

export type RevokeDependencies = TokenDependencies & {
  readonly database: Pick<Database, "query" | "inAccount">;
};

type Revocation = {
  readonly tokenId: string;
  /** Whether to resolve only once no node accepts the token. */
  readonly waitsForAll: boolean;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

/** Revokes the token and its descendants; an already revoked token keeps its reason and time. */
export async function revokeToken(
  actor: Actor,
  { tokenId, waitsForAll, idempotencyKey }: Revocation,
  dependencies: RevokeDependencies,
): Promise<void> {
  const tokenRoute = { accountId: actor.accountId, tokenId };
  await runIdempotent(dependencies.database, { actor, idempotencyKey }, async (transaction) => {
    const row = await readTokenRow(transaction, tokenRoute);
    if (row === undefined) throw requestFailure({ kind: "not-found" });
    assertMayManage(actor, row);
    await revokeWithDescendants(transaction, { tokenRoute, reason: "asked", by: actor }, dependencies);
    return {};
  });
  if (waitsForAll) await awaitRevocation(dependencies.database);
}

/** A token ends itself, whatever it may do. Resolves once no node accepts it. */
export async function revokeOwnToken(
  actor: Pick<Actor, "kind" | "id" | "accountId" | "address">,
  dependencies: RevokeDependencies,
): Promise<void> {
  const tokenRoute = { accountId: actor.accountId, tokenId: actor.id };
  await dependencies.database.inAccount(actor.accountId, (transaction) =>
    revokeWithDescendants(transaction, { tokenRoute, reason: "asked", by: actor }, dependencies),
  );
  await awaitRevocation(dependencies.database);
}

export type LeakResult = { readonly checked: number; readonly revoked: number };

/** Revokes every valid token among the texts, without authentication: anyone who holds a token could also use it. */
export async function revokeLeaked(
  texts: readonly string[],
  dependencies: RevokeDependencies,
): Promise<LeakResult> {
  const distinct = new Set(texts.map((text) => text.trim()));
  const hashes = [...distinct].flatMap((text) => parseToken(text) ?? []).map(hashToken);
  const routes = hashes.length === 0 ? [] : await findRoutes(dependencies.database, hashes);
  let revoked = 0;
  for (const tokenRoute of new Map(routes.map((route) => [route.tokenId, route])).values()) {
    const count = await dependencies.database.inAccount(tokenRoute.accountId, (transaction) =>
      revokeWithDescendants(transaction, { tokenRoute, reason: "leaked", by: "server" }, dependencies),
    );
    if (count > 0) revoked += 1;
  }
  return { checked: texts.length, revoked };
}

type RevocationOptions = {
  readonly tokenRoute: TokenRoute;
  readonly reason: "asked" | "leaked";
  readonly by: AuditActor;
};

/** Returns how many tokens were revoked. */
async function revokeWithDescendants(
  transaction: Transaction,
  { tokenRoute, reason, by }: RevocationOptions,
  { audit, serverKeys: { rowMacs } }: Pick<TokenDependencies, "audit" | "serverKeys">,
): Promise<number> {
  const { accountId, tokenId } = tokenRoute;
  const revokedTokens = await inNewEpoch(transaction, { accountId, rowMacs }, async () => {
    const result = await revokeTokens(transaction, tokenRoute, reason);
    const ids = new Set([tokenId, ...result.map(({ id }) => id)]);
    return { result, isRevoked: (row) => "token" in row && ids.has(row.token.id) };
  });
  await reportRevokedTokens(transaction, { accountId, by, revoked: revokedTokens }, audit);
  return revokedTokens.length;
}

type TokenRevocations = {
  readonly accountId: string;
  readonly by: AuditActor;
  readonly revoked: readonly RevokedToken[];
};

/** Records the revocations, and ends the tokens on every node when the transaction commits. */
export async function reportRevokedTokens(
  transaction: Transaction,
  { accountId, by, revoked }: TokenRevocations,
  audit: Pick<AuditLog, "record">,
): Promise<void> {
  for (const token of revoked) {
    const event = { type: "token-revoked", token: token.id, reason: token.reason } as const;
    audit.record(transaction, { accountId, by, event });
  }
  const subjects = revoked.map(({ id }) => ({ kind: "token", subjectId: id }) as const);
  if (subjects.length > 0) await notifyNodes(transaction, accountId, subjects);
}
