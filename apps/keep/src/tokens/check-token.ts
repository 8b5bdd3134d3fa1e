import type { Actor } from "../authorization/actor.ts";
import { isInRanges } from "../authorization/addresses.ts";
import type { Grant } from "../authorization/grant.ts";
import { expandScopes, parseScope } from "../authorization/scopes.ts";
import type { CacheInvalidation } from "../cluster/cache-invalidation.ts";
import type { Database } from "../database/open-database.ts";
import { findToken, type StoredGrant } from "./queries.ts";
import { type CachedToken, createTokenCache } from "./token-cache.ts";
import { hashToken, parseToken } from "./token-format.ts";

export type TokenCheckDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly invalidation: CacheInvalidation;
  /** Called on every use; must not block. */
  readonly recordUse: (actor: Actor) => void;
  /** Called with the source of each result. */
  readonly countCheck?: (from: "memory" | "database") => void;
};

/** The client's address, and whether a token that is not cached may be looked up in the database. */
type TokenUse = { readonly address: string; readonly mayQueryDatabase: boolean };

/** Undefined when the token is not valid; the reason is not exposed. */
export type CheckToken = (text: string, use: TokenUse) => Promise<Actor | undefined>;

export function createTokenCheck({
  database,
  invalidation,
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
    const found = stored === undefined ? undefined : { ...stored, grant: toGrant(stored) };
    cache.set(name, found, generation);
    return found;
  };
  return async (text, { address, mayQueryDatabase }) => {
    const token = parseToken(text);
    if (token === undefined) return undefined;
    const found = await find(hashToken(token), mayQueryDatabase);
    if (found === undefined || !isValid(found, address, invalidation.databaseNow())) return undefined;
    const actor = {
      accountId: found.accountId,
      kind: "token",
      id: found.id,
      address,
      grant: found.grant,
    } as const;
    recordUse(actor);
    return actor;
  };
}

/** A cached token may have expired since it was read. */
function isValid({ grant, validUntil }: CachedToken, address: string, now: number): boolean {
  const isOver = [grant.expiresAt, validUntil].some((end) => (end?.getTime() ?? now + 1) <= now);
  return !isOver && (grant.addresses === undefined || isInRanges(grant.addresses, address));
}

/** Converts the stored columns. */
export function toGrant(stored: StoredGrant): Grant {
  return {
    scopes: expandScopes(stored.scopes.flatMap((scope) => parseScope(scope) ?? [])),
    ...(stored.vaultIds === null ? {} : { vaultIds: new Set(stored.vaultIds) }),
    ...(stored.paths === null ? {} : { paths: stored.paths }),
    ...(stored.addresses === null ? {} : { addresses: stored.addresses }),
    ...(stored.expiresAt === null ? {} : { expiresAt: stored.expiresAt }),
  };
}
