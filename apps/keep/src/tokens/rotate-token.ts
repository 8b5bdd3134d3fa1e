import { type Actor, formatActor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { type IdempotencyKey, runIdempotent } from "../idempotency/run-idempotent.ts";
import { type Epochs, inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import { listTokenRouteRows } from "../keys/row-integrity/queries.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import {
  assertMayManage,
  assertMayUse,
  getToken,
  type IssuedToken,
  isVisibleTo,
  type TokenDependencies,
} from "./create-token.ts";
import {
  insertRoute,
  isDescendant,
  readTokenRow,
  readTokenState,
  type TokenRoute,
  type TokenRow,
  updateRouteExpiries,
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
    const name = await inNewEpoch(transaction, { accountId, rowMacs }, async (epochs) => {
      const live = await readLiveToken(transaction, actor, tokenId);
      await assertMayRotate(transaction, actor, live);
      await expireEarlierValues(transaction, { tokenRoute, graceSeconds, epochs }, rowMacs);
      const newRoute = { ...tokenRoute, tokenHash, validUntil: null };
      const mac = rowMacs.compute({ tokenRoute: newRoute, epoch: epochs.next });
      await insertRoute(transaction, tokenRoute, { tokenHash, mac });
      await updateTokenHash(transaction, tokenRoute, { tokenHash, by: formatActor(actor) });
      return {
        result: live.name,
        isRevoked: (row) => "tokenRoute" in row && row.tokenRoute.tokenId === tokenId,
      };
    });
    const event = { type: "token-rotated", token: tokenId, name } as const;
    audit.record(transaction, { accountId, by: actor, event });
    // Other nodes may have cached the old value without an expiry.
    await notifyNodes(transaction, accountId, [{ kind: "token", subjectId: tokenId }]);
    return {};
  });
  if (isReplay) throw requestFailure({ kind: "token-already-issued", id: tokenId });
  return { token: await getToken(database, accountId, tokenId), value };
}

type ExpiryOptions = {
  readonly tokenRoute: TokenRoute;
  readonly graceSeconds: number;
  readonly epochs: Epochs;
};

/** Earlier values expire after the grace period, or sooner if they already have an expiry. */
async function expireEarlierValues(
  transaction: Transaction,
  { tokenRoute, graceSeconds, epochs }: ExpiryOptions,
  rowMacs: RowMacs,
): Promise<void> {
  const { accountId, tokenId } = tokenRoute;
  const { now } = await readTokenState(transaction, { accountId, parentId: null, ownerId: null });
  const graceEnd = now.getTime() + graceSeconds * 1000;
  const routes = (await listTokenRouteRows(transaction, accountId))
    .filter((route) => route.tokenId === tokenId)
    .filter((route) => rowMacs.isGenuine({ tokenRoute: route, epoch: epochs.previous }, route.mac))
    .map((route) => {
      const validUntil = new Date(Math.min(route.validUntil?.getTime() ?? graceEnd, graceEnd));
      const mac = rowMacs.compute({ tokenRoute: { ...route, validUntil }, epoch: epochs.next });
      return { tokenHash: route.tokenHash, validUntil, mac };
    });
  await updateRouteExpiries(transaction, routes);
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
    audit.record(transaction, { accountId, by: actor, event });
    return {};
  });
  return getToken(database, accountId, tokenId);
}

async function readLiveToken(transaction: Transaction, actor: Actor, tokenId: string): Promise<TokenRow> {
  const row = await readTokenRow(transaction, { accountId: actor.accountId, tokenId });
  if (row === undefined || !isVisibleTo(actor, row)) throw requestFailure({ kind: "not-found" });
  if (row.revokedAt !== null) throw requestFailure({ kind: "conflict", reason: "The token is revoked" });
  return row;
}

/** The new value gives full use of the token, so a token may rotate only itself and its descendants. */
async function assertMayRotate(transaction: Transaction, actor: Actor, token: TokenRow): Promise<void> {
  if (actor.personId !== undefined) assertMayUse(actor, token);
  if (actor.kind === "session") return;
  const tokenRoute = { accountId: actor.accountId, tokenId: actor.id };
  if (!(await isDescendant(transaction, tokenRoute, token.id)))
    throw requestFailure({ kind: "grant-exceeded" });
}
