import { isAddressRange } from "@hearth-and-keep/configuration";
import type { AuditLog } from "../audit/audit-log.ts";
import { type Actor, formatActor, type Originator } from "../authorization/actor.ts";
import { allowsScope, allowsVault, grantCovers, limitsCover } from "../authorization/grant.ts";
import { findPatternErrors } from "../authorization/path-patterns.ts";
import type { Scope } from "../authorization/scopes.ts";
import { assertMayShare } from "../authorization/sharing.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { type FieldError, requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { type IdempotencyKey, runIdempotent } from "../idempotency/run-idempotent.ts";
import { lockEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { TokenRow as AuthenticatedToken, RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { toGrant } from "./check-token.ts";
import {
  countVaults,
  insertToken,
  readTokenRow,
  readTokenState,
  type StoredGrant,
  type TokenRow,
} from "./queries.ts";
import { generateToken, hashToken, type Token } from "./token-format.ts";

export type TokenSpec = StoredGrant & { readonly name: string; readonly scopes: readonly Scope[] };

/** A token with its value, which is not stored and cannot be shown again. */
export type IssuedToken = { readonly token: TokenRow; readonly value: Token };

export type TokenDependencies = {
  readonly database: Pick<Database, "inAccount">;
  readonly audit: Pick<AuditLog, "record">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

const maxLiveTokens = 100;
/** Of trust rules; they end within an hour. */
const maxExchangedTokens = 1000;
const maxYears = 10;

export type TokenRequest = {
  readonly spec: TokenSpec;
  readonly idempotencyKey: IdempotencyKey | undefined;
};

export async function createToken(
  actor: Actor,
  request: TokenRequest,
  dependencies: TokenDependencies,
): Promise<IssuedToken> {
  assertValidSpec(request.spec);
  if (!grantCovers(actor.grant, toGrant(request.spec))) throw requestFailure({ kind: "grant-exceeded" });
  return issueToken(actor, { ...request, ownerId: actor.ownerId ?? null }, dependencies);
}

/**
 * For a member of an organisation. A token of their own is limited at each use to what they may do then, and ends with the
 * membership. One of the organisation stays, so it can have only what its creator has and may share.
 */
export async function createMemberToken(
  actor: Actor,
  { isOwn, ...request }: TokenRequest & { readonly isOwn: boolean },
  dependencies: TokenDependencies,
): Promise<IssuedToken> {
  assertValidSpec(request.spec);
  if (isOwn) assertKnownVaults(actor, request.spec);
  else assertMayIssue(actor, request.spec);
  return issueToken(actor, { ...request, ownerId: isOwn ? (actor.personId ?? null) : null }, dependencies);
}

/** Nobody learns which vaults exist that are hidden from them. */
function assertKnownVaults({ grant }: Pick<Actor, "grant">, { vaultIds }: TokenSpec): void {
  const isKnown = vaultIds?.every((id) => allowsVault(grant, id)) ?? true;
  if (!isKnown) throw invalid("vault_ids", "must contain only existing vaults");
}

/** Who has the value of a token of the organisation can do all that it may. */
export function assertMayIssue(actor: Pick<Actor, "kind" | "grant">, token: StoredGrant): void {
  const child = toGrant(token);
  if (!grantCovers(actor.grant, child)) throw requestFailure({ kind: "grant-exceeded" });
  for (const permission of child.permissions) assertMayShare(actor, permission);
}

async function issueToken(
  actor: Actor,
  { spec, idempotencyKey, ownerId }: TokenRequest & { readonly ownerId: string | null },
  dependencies: TokenDependencies,
): Promise<IssuedToken> {
  const { database, serverKeys } = dependencies;
  const { rowMacs } = serverKeys;
  const { accountId } = actor;
  let value: Token | undefined;
  const { result, isReplay } = await runIdempotent(
    database,
    { actor, idempotencyKey },
    async (transaction) => {
      const parentId = actor.kind === "token" ? actor.id : null;
      const epoch = await lockEpoch(transaction, accountId, rowMacs);
      const added = await addToken(
        transaction,
        { spec, by: actor, accountId, parentId, ownerId, epoch },
        dependencies,
      );
      value = added.value;
      return { id: added.id };
    },
  );
  // Only the id is stored for a replay, never the value.
  if (isReplay || value === undefined) throw requestFailure({ kind: "token-already-issued", id: result.id });
  return { token: await getToken(database, accountId, result.id), value };
}

export type TokenCreation = {
  readonly accountId: string;
  /** The token with which it is created, or the trust rule; it ends with them. */
  readonly parentId: string | null;
  /** The member to whom a token of an organisation belongs. */
  readonly ownerId: string | null;
  readonly spec: TokenSpec;
  readonly by: Originator;
  /** Of the account, which is locked. */
  readonly epoch: number;
  /** The token of a workload for which it is exchanged. */
  readonly subjectToken?: { readonly issuer: string; readonly subject: string };
};

/** Adds a token in the transaction, which must have checked that the creator may grant it. */
export async function addToken(
  transaction: Transaction,
  { spec, by, accountId, parentId, ownerId, epoch, subjectToken }: TokenCreation,
  { audit, serverKeys: { rowMacs } }: Pick<TokenDependencies, "audit" | "serverKeys">,
): Promise<{ readonly id: string; readonly value: Token }> {
  const value = generateToken();
  await assertCreatable(transaction, { accountId, parentId, ownerId, spec, by });
  const token = { ...spec, accountId, id: generateId(), tokenHash: hashToken(value), parentId, ownerId };
  await insertToken(transaction, {
    ...token,
    createdBy: formatActor(by),
    ...signToken(token, epoch, rowMacs),
  });
  const { name, scopes } = spec;
  const owner = ownerId === null ? {} : { owner: ownerId };
  const event = { type: "token-created", token: token.id, name, scopes, ...subjectToken, ...owner } as const;
  audit.record(transaction, { accountId, by, event });
  return { id: token.id, value };
}

/** The MACs of a new token's two rows. */
export function signToken(
  token: AuthenticatedToken & { readonly tokenHash: Buffer },
  epoch: number,
  rowMacs: Pick<RowMacs, "compute">,
): { readonly mac: Buffer; readonly routeMac: Buffer } {
  const { accountId, id: tokenId, tokenHash } = token;
  const tokenRoute = { accountId, tokenId, tokenHash, validUntil: null };
  return { mac: rowMacs.compute({ token, epoch }), routeMac: rowMacs.compute({ tokenRoute, epoch }) };
}

export function assertValidSpec({
  paths,
  addresses,
  expiresAt,
}: Pick<TokenSpec, "paths" | "addresses" | "expiresAt">): void {
  const errors: FieldError[] = [
    ...findPatternErrors(paths ?? [], "paths"),
    ...(addresses ?? []).flatMap((address, index) =>
      isAddressRange(address)
        ? []
        : [{ field: `addresses.${index}`, reason: "must be an IP address or range such as 10.0.0.0/8" }],
    ),
    ...(Number.isNaN(expiresAt?.getTime())
      ? [{ field: "expires_at", reason: "must be a valid timestamp" }]
      : []),
  ];
  if (errors.length > 0) throw requestFailure({ kind: "request-invalid", errors });
}

async function assertCreatable(
  transaction: Transaction,
  { accountId, parentId, ownerId, spec, by }: Omit<TokenCreation, "epoch" | "subjectToken">,
): Promise<void> {
  const state = await readTokenState(transaction, { accountId, parentId, ownerId });
  const { isParentLive, now } = state;
  const isExchange = by.kind === "trust-rule";
  // The parent was revoked after this request was authenticated. A trust rule was read in this transaction.
  if (parentId !== null && !isExchange && !isParentLive) throw requestFailure({ kind: "unauthenticated" });
  if (spec.expiresAt !== null) assertValidExpiry(spec.expiresAt, now);
  if (spec.vaultIds !== null) {
    const found = await countVaults(transaction, accountId, spec.vaultIds);
    if (found < spec.vaultIds.length) throw invalid("vault_ids", "must contain only existing vaults");
  }
  const [live, max] = isExchange ? [state.exchanged, maxExchangedTokens] : [state.live, maxLiveTokens];
  if (live >= max) throw requestFailure({ kind: "quota-exceeded", resource: "active tokens", max });
}

function assertValidExpiry(expiresAt: Date, now: Date): void {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + maxYears);
  if (expiresAt <= now) throw invalid("expires_at", "must be in the future");
  if (expiresAt > latest) throw invalid("expires_at", `must be within ${maxYears} years`);
}

function invalid(field: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field, reason }] });
}

/**
 * A token restricted to vaults or paths may revoke and rename only tokens within the same restrictions. A member of an
 * organisation may their own, and those of the organisation that they could have created; an owner all.
 */
export function assertMayManage(
  actor: Pick<Actor, "kind" | "grant" | "personId">,
  token: StoredGrant & { readonly ownerId: string | null },
): void {
  if (actor.personId !== undefined) {
    if (!allowsScope(actor.grant, "tokens:write")) assertMayUse(actor, token);
    return;
  }
  if (!limitsCover(actor.grant, toGrant(token))) throw requestFailure({ kind: "grant-exceeded" });
}

/** Whether a member may have the value of a token of the organisation. Another member's is "not found", as in lists. */
export function assertMayUse(
  actor: Pick<Actor, "kind" | "grant" | "personId">,
  token: StoredGrant & { readonly ownerId: string | null },
): void {
  if (token.ownerId === actor.personId) return;
  if (token.ownerId === null) assertMayIssue(actor, token);
  else throw requestFailure({ kind: visibleOwner(actor) === undefined ? "grant-exceeded" : "not-found" });
}

/** Of whose tokens a member of an organisation sees what they may do; undefined for everybody's. */
export function visibleOwner({ grant, personId }: Pick<Actor, "grant" | "personId">): string | undefined {
  return allowsScope(grant, "tokens:read") ? undefined : personId;
}

/** Whether the actor may know of a token of its account. */
export function isVisibleTo(
  actor: Pick<Actor, "grant" | "personId">,
  { ownerId }: Pick<TokenRow, "ownerId">,
): boolean {
  const owner = visibleOwner(actor);
  return owner === undefined || ownerId === null || ownerId === owner;
}

/** Throws "not found" for another account's token. */
export async function getToken(
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
