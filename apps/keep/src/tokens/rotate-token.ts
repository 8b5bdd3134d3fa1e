import type { Actor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type IdempotencyKey, runIdempotent } from "../idempotency/run-idempotent.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { assertMayManage, getToken, type IssuedToken, type TokenDependencies } from "./create-token.ts";
import {
  expireOlderRoutes,
  insertRoute,
  isDescendant,
  readTokenRow,
  type TokenRow,
  updateTokenHash,
  updateTokenName,
} from "./queries.ts";
import { generateToken, hashToken } from "./token-format.ts";

type Rotation = {
  readonly tokenId: string;
  readonly graceSeconds: number;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

/** Issues a new value; earlier values stay valid for the grace period. The token keeps its id and grant. */
export async function rotateToken(
  actor: Actor,
  { tokenId, graceSeconds, idempotencyKey }: Rotation,
  { database, audit, serverKeys: { rowMacs } }: TokenDependencies,
): Promise<IssuedToken> {
  const { accountId } = actor;
  const tokenRoute = { accountId, tokenId };
  const value = generateToken();
  const tokenHash = hashToken(value);
  const { isReplay } = await runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    const name = await inNewEpoch(transaction, { accountId, rowMacs }, async (epoch) => {
      const live = await readLiveToken(transaction, actor, tokenId);
      await assertMayRotate(transaction, actor, tokenId);
      await expireOlderRoutes(transaction, tokenRoute, graceSeconds);
      const mac = rowMacs.compute({ tokenRoute: { ...tokenRoute, tokenHash, validUntil: null }, epoch });
      await insertRoute(transaction, tokenRoute, { tokenHash, mac });
      await updateTokenHash(transaction, tokenRoute, tokenHash);
      return live.name;
    });
    const event = { type: "token-rotated", token: tokenId, name } as const;
    await audit.record(transaction, { chain: accountId, by: actor, event });
    // Other nodes may have cached the old value without an expiry.
    await notifyNodes(transaction, accountId, [{ kind: "token", subjectId: tokenId }]);
    return {};
  });
  if (isReplay) throw requestFailure({ kind: "token-already-issued", id: tokenId });
  return { token: await getToken(database, accountId, tokenId), value };
}

type RenameRequest = {
  readonly tokenId: string;
  readonly name: string;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

export async function renameToken(
  actor: Actor,
  { tokenId, name, idempotencyKey }: RenameRequest,
  { database, audit }: TokenDependencies,
): Promise<TokenRow> {
  const { accountId } = actor;
  await runIdempotent(database, { actor, idempotencyKey }, async (transaction) => {
    assertMayManage(actor, await readLiveToken(transaction, actor, tokenId));
    await updateTokenName(transaction, { accountId, tokenId }, name);
    const event = { type: "token-changed", token: tokenId, name } as const;
    await audit.record(transaction, { chain: accountId, by: actor, event });
    return {};
  });
  return getToken(database, accountId, tokenId);
}

async function readLiveToken(
  transaction: Transaction,
  { accountId }: Actor,
  tokenId: string,
): Promise<TokenRow> {
  const row = await readTokenRow(transaction, { accountId, tokenId });
  if (row === undefined) throw requestFailure({ kind: "not-found" });
  if (row.revokedAt !== null) throw requestFailure({ kind: "conflict", reason: "The token is revoked" });
  return row;
}

/** The new value gives full use of the token, so a token may rotate only itself and its descendants. */
async function assertMayRotate(transaction: Transaction, actor: Actor, tokenId: string): Promise<void> {
  if (actor.kind === "session") return;
  const tokenRoute = { accountId: actor.accountId, tokenId: actor.id };
  if (!(await isDescendant(transaction, tokenRoute, tokenId)))
    throw requestFailure({ kind: "grant-exceeded" });
}
