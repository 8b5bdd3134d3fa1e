import type { Actor } from "../authorization/actor.ts";
import { tellNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { changeOnce, type Once } from "../idempotency/change-once.ts";
import { type IssuedToken, readBack, type TokenParts } from "./mint-token.ts";
import {
  endOlderRoutes,
  insertRoute,
  isDescendant,
  lockTokens,
  readTokenRow,
  type TokenRow,
  writeNewValue,
  writeTokenName,
} from "./queries.ts";
import { hashToken, makeToken } from "./token-format.ts";

type Rotation = { readonly tokenId: string; readonly graceSeconds: number; readonly once: Once | undefined };

/** A new value at once; those before it hold until the grace is over. The token keeps its id and what it may. */
export async function rotateToken(
  actor: Actor,
  { tokenId, graceSeconds, once }: Rotation,
  { database, audit }: TokenParts,
): Promise<IssuedToken> {
  const { accountId } = actor;
  const place = { accountId, tokenId };
  const value = makeToken();
  const tokenHash = hashToken(value);
  const { isReplay } = await changeOnce(database, { actor, once }, async (transaction) => {
    await lockTokens(transaction, accountId);
    const { name } = await readLive(transaction, actor, tokenId);
    await refuseStranger(transaction, actor, tokenId);
    await endOlderRoutes(transaction, place, graceSeconds);
    await insertRoute(transaction, place, tokenHash);
    await writeNewValue(transaction, place, tokenHash);
    const event = { type: "token-rotated", token: tokenId, name } as const;
    await audit.record(transaction, { chain: accountId, by: actor, event });
    // Nodes may remember the old value as one without an end.
    await tellNodes(transaction, accountId, [{ kind: "token", subjectId: tokenId }]);
    return {};
  });
  if (isReplay) throw requestFailure({ kind: "token-already-issued", id: tokenId });
  return { token: await readBack(database, accountId, tokenId), value };
}

type Renaming = { readonly tokenId: string; readonly name: string; readonly once: Once | undefined };

export async function renameToken(
  actor: Actor,
  { tokenId, name, once }: Renaming,
  { database, audit }: TokenParts,
): Promise<TokenRow> {
  const { accountId } = actor;
  await changeOnce(database, { actor, once }, async (transaction) => {
    await readLive(transaction, actor, tokenId);
    await writeTokenName(transaction, { accountId, tokenId }, name);
    const event = { type: "token-changed", token: tokenId, name } as const;
    await audit.record(transaction, { chain: accountId, by: actor, event });
    return {};
  });
  return readBack(database, accountId, tokenId);
}

async function readLive(transaction: Transaction, { accountId }: Actor, tokenId: string): Promise<TokenRow> {
  const row = await readTokenRow(transaction, { accountId, tokenId });
  if (row === undefined) throw requestFailure({ kind: "not-found" });
  if (row.revokedAt !== null) throw requestFailure({ kind: "conflict", reason: "The token is revoked" });
  return row;
}

/** Who gets a token's new value has the token: a program gets its own, and those of tokens that end with it. */
async function refuseStranger(transaction: Transaction, actor: Actor, tokenId: string): Promise<void> {
  if (actor.kind === "session") return;
  const place = { accountId: actor.accountId, tokenId: actor.id };
  if (!(await isDescendant(transaction, place, tokenId))) throw requestFailure({ kind: "grant-exceeded" });
}
