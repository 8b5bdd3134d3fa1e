import type { Actor } from "../authorization/actor.ts";
import { isInRanges } from "../authorization/addresses.ts";
import type { Grant } from "../authorization/grant.ts";
import type { FindAccess, MemberAccess } from "../authorization/member-access.ts";
import { expandScopes, parseScope } from "../authorization/scopes.ts";
import type { CacheInvalidation } from "../cluster/cache-invalidation.ts";
import type { Database } from "../database/open-database.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import { findToken, type StoredGrant, type StoredToken } from "./queries.ts";
import { type CachedToken, createTokenCache } from "./token-cache.ts";
import { hashToken, parseToken } from "./token-format.ts";

export type TokenCheckDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly invalidation: CacheInvalidation;
  readonly rowMacs: Pick<RowMacs, "isGenuine">;
  /** What the owner of a token may do now; undefined for a person who left or is suspended. */
  readonly findOwnerAccess: FindAccess;
  /** Called when a stored token was modified outside Keep. */
  readonly onIntegrityError?: (accountId: string) => void;
  /** Called on every use; must not block. */
  readonly recordUse: (actor: Actor) => void;
  /** Called with the source of each result. */
  readonly countCheck?: (from: "memory" | "database") => void;
};

/** Why a token that exists was not accepted. */
type TokenMisuse = "token-expired" | "address-not-allowed";

export type TokenUse = {
  readonly address: string;
  /** Whether a token that is not cached may be looked up in the database. */
  readonly mayQueryDatabase: boolean;
  /** Called when the token exists but may not be used now or from this address, which its owner should know. */
  readonly onMisuse?: (by: Actor, reason: TokenMisuse) => void;
};

/** Undefined when the token is not valid; the reason is not exposed. */
export type CheckToken = (text: string, use: TokenUse) => Promise<Actor | undefined>;

export function createTokenCheck({
  database,
  invalidation,
  rowMacs,
  findOwnerAccess,
  onIntegrityError,
  recordUse,
  countCheck,
}: TokenCheckDependencies): CheckToken {
  const cache = createTokenCache(invalidation);
  const find = async (hash: Buffer, mayQueryDatabase: boolean): Promise<CachedToken | undefined> => {
    const name = hash.toString("base64");
    const cached = cache.get(name);
    if (cached !== undefined) {
      countCheck?.("memory");
      return cached === "unknown" ? undefined : cached;
    }
    if (!mayQueryDatabase) return undefined;
    countCheck?.("database");
    const generation = invalidation.generation();
    const stored = await findToken(database, hash);
    const isGenuine = stored !== undefined && isGenuineToken(stored, hash, rowMacs);
    if (stored !== undefined && !isGenuine) onIntegrityError?.(stored.accountId);
    const found = isGenuine ? toCached(stored) : undefined;
    cache.set(name, found, generation);
    return found;
  };
  const limits = createOwnerLimits();
  return async (text, { address, mayQueryDatabase, onMisuse }) => {
    const token = parseToken(text);
    if (token === undefined) return undefined;
    const found = await find(hashToken(token), mayQueryDatabase);
    if (found === undefined) return undefined;
    const { accountId, id, ownerId } = found;
    const access = ownerId === null ? undefined : await findOwnerAccess({ accountId, personId: ownerId });
    if (ownerId !== null && access === undefined) return undefined;
    const actor = {
      accountId,
      kind: "token",
      id,
      address,
      grant: access === undefined ? found.grant : limits(found, access),
      ...(ownerId === null ? {} : { ownerId }),
    } as const;
    const misuse = findMisuse(found, address, invalidation.databaseNow());
    if (misuse !== undefined) {
      onMisuse?.(actor, misuse);
      return undefined;
    }
    recordUse(actor);
    return actor;
  };
}

/** A token's grant within what its owner may do: the same for as long as neither changes. */
function createOwnerLimits(): (token: CachedToken, access: MemberAccess) => Grant {
  const limited = new WeakMap<MemberAccess, WeakMap<Grant, Grant>>();
  return ({ grant }, access) => {
    const ofOwner = limited.get(access) ?? new WeakMap<Grant, Grant>();
    limited.set(access, ofOwner);
    const known = ofOwner.get(grant) ?? { ...grant, within: access.grant };
    ofOwner.set(grant, known);
    return known;
  };
}

function toCached(stored: StoredToken): CachedToken {
  const { accountId, id, ownerId, validUntil } = stored;
  return { accountId, id, ownerId, validUntil, grant: toGrant(stored) };
}

function isGenuineToken(
  { mac, routeMac, account: { mac: accountMac, ...account }, ...stored }: StoredToken,
  tokenHash: Buffer,
  rowMacs: Pick<RowMacs, "isGenuine">,
): boolean {
  const { accountId, id: tokenId, validUntil } = stored;
  const { epoch } = account;
  return (
    rowMacs.isGenuine({ account }, accountMac) &&
    rowMacs.isGenuine({ token: stored, epoch }, mac) &&
    rowMacs.isGenuine({ tokenRoute: { accountId, tokenId, tokenHash, validUntil }, epoch }, routeMac)
  );
}

/** A cached token may have expired since it was read. */
function findMisuse(
  { grant, validUntil }: CachedToken,
  address: string,
  now: number,
): TokenMisuse | undefined {
  const isOver = [grant.expiresAt, validUntil].some((end) => (end?.getTime() ?? now + 1) <= now);
  if (isOver) return "token-expired";
  return grant.addresses === undefined || isInRanges(grant.addresses, address)
    ? undefined
    : "address-not-allowed";
}

/** Converts the stored columns. */
export function toGrant(stored: StoredGrant): Grant {
  const permission = {
    scopes: expandScopes(stored.scopes.flatMap((scope) => parseScope(scope) ?? [])),
    ...(stored.vaultIds === null ? {} : { vaultIds: new Set(stored.vaultIds) }),
    ...(stored.paths === null ? {} : { paths: stored.paths }),
  };
  return {
    permissions: [permission],
    ...(stored.addresses === null ? {} : { addresses: stored.addresses }),
    ...(stored.expiresAt === null ? {} : { expiresAt: stored.expiresAt }),
  };
}
