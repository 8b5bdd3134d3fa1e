import { isAddressRange } from "@hearth-and-keep/configuration";
import type { AuditLog } from "../audit/audit-log.ts";
import { type Actor, nameActor } from "../authorization/actor.ts";
import { grantCovers } from "../authorization/grant.ts";
import type { Scope } from "../authorization/scopes.ts";
import { isPathPattern } from "../authorization/secret-paths.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { type Mistake, requestFailure } from "../failures.ts";
import { changeOnce, type Once } from "../idempotency/change-once.ts";
import { makeId } from "../make-id.ts";
import { grantOf } from "./check-token.ts";
import {
  countVaults,
  insertToken,
  lockTokens,
  readTokenRow,
  readTokenState,
  type StoredGrant,
  type TokenRow,
} from "./queries.ts";
import { hashToken, makeToken, type Token } from "./token-format.ts";

export type TokenWish = StoredGrant & { readonly name: string; readonly scopes: readonly Scope[] };

/** A token and its value, which nobody can tell again. */
export type IssuedToken = { readonly token: TokenRow; readonly value: Token };

export type TokenParts = {
  readonly database: Pick<Database, "inAccount">;
  readonly audit: Pick<AuditLog, "record">;
};

const mostLiveTokens = 100;
const longestYears = 10;

export async function mintToken(
  actor: Actor,
  { wish, once }: { readonly wish: TokenWish; readonly once: Once | undefined },
  { database, audit }: TokenParts,
): Promise<IssuedToken> {
  refuseMistakes(wish);
  if (!grantCovers(actor.grant, grantOf(wish))) throw requestFailure({ kind: "grant-exceeded" });
  const value = makeToken();
  const { accountId } = actor;
  const made = { accountId, id: makeId(), tokenHash: hashToken(value) };
  const { result, isReplay } = await changeOnce(database, { actor, once }, async (transaction) => {
    const parentId = actor.kind === "token" ? actor.id : null;
    await lockTokens(transaction, accountId);
    await refuseUnlessPossible(transaction, { accountId, parentId, wish });
    await insertToken(transaction, { ...wish, ...made, parentId, createdBy: nameActor(actor) });
    const event = { type: "token-created", token: made.id, name: wish.name, scopes: wish.scopes } as const;
    await audit.record(transaction, { chain: accountId, by: actor, event });
    return { id: made.id };
  });
  // What is kept for a replay is the id alone: the value is nowhere.
  if (isReplay) throw requestFailure({ kind: "token-already-issued", id: result.id });
  return { token: await readBack(database, accountId, made.id), value };
}

function refuseMistakes({ paths, addresses, expiresAt }: TokenWish): void {
  const mistakes: Mistake[] = [
    ...(paths ?? []).flatMap((path, place) =>
      isPathPattern(path) ? [] : [{ place: `paths.${place}`, reason: "must be a pattern such as /prod/**" }],
    ),
    ...(addresses ?? []).flatMap((address, place) =>
      isAddressRange(address)
        ? []
        : [{ place: `addresses.${place}`, reason: "must be an address or a range such as 10.0.0.0/8" }],
    ),
    ...(Number.isNaN(expiresAt?.getTime()) ? [{ place: "expires_at", reason: "must be a moment" }] : []),
  ];
  if (mistakes.length > 0) throw requestFailure({ kind: "request-invalid", mistakes });
}

type Minting = { readonly accountId: string; readonly parentId: string | null; readonly wish: TokenWish };

async function refuseUnlessPossible(
  transaction: Transaction,
  { accountId, parentId, wish }: Minting,
): Promise<void> {
  const { live, isParentLive, now } = await readTokenState(transaction, accountId, parentId);
  // Revoked between the check of the request and here.
  if (parentId !== null && !isParentLive) throw requestFailure({ kind: "unauthenticated" });
  if (wish.expiresAt !== null) refuseUnlessAhead(wish.expiresAt, now);
  if (wish.vaultIds !== null) {
    const found = await countVaults(transaction, accountId, wish.vaultIds);
    if (found < wish.vaultIds.length) throw invalid("vault_ids", "must name vaults that are there");
  }
  if (live >= mostLiveTokens) {
    throw requestFailure({ kind: "quota-exceeded", what: "tokens that hold", most: mostLiveTokens });
  }
}

function refuseUnlessAhead(expiresAt: Date, now: Date): void {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + longestYears);
  if (expiresAt <= now) throw invalid("expires_at", "must be in the future");
  if (expiresAt > latest) throw invalid("expires_at", `must be within ${longestYears} years`);
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", mistakes: [{ place, reason }] });
}

/** As it is stored. */
export async function readBack(
  database: Pick<Database, "inAccount">,
  accountId: string,
  tokenId: string,
): Promise<TokenRow> {
  const row = await database.inAccount(accountId, (transaction) =>
    readTokenRow(transaction, { accountId, tokenId }),
  );
  if (row === undefined) throw requestFailure({ kind: "not-found" });
  return row;
}
