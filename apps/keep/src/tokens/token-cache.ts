import { LRUCache } from "lru-cache";
import type { Grant } from "../authorization/grant.ts";
import { maxEntries } from "../cache-options.ts";
import type { CacheInvalidation } from "../cluster/cache-invalidation.ts";

/** A token that was not revoked when it was last read from the database. */
export type CachedToken = {
  readonly accountId: string;
  readonly id: string;
  /** The member to whom a token of an organisation belongs. */
  readonly ownerId: string | null;
  readonly grant: Grant;
  /** When the grace period of a rotated value ends. */
  readonly validUntil: Date | null;
};

/** Valid tokens by the hash of their value and, briefly, hashes that belong to no token. */
export type TokenCache = {
  get(hash: string): CachedToken | "unknown" | undefined;
  /** `generation` is the invalidation generation from before the database was queried. */
  set(hash: string, stored: CachedToken | undefined, generation: number): void;
};

const maxTokens = 50_000;
const tokenMilliseconds = 60_000;
const maxUnknown = 10_000;
const unknownMilliseconds = 1000;

export function createTokenCache(invalidation: CacheInvalidation): TokenCache {
  /** Hashes by token and by account, so that invalidating one does not scan the others. */
  const hashesOf = new Map<string, Set<string>>();
  const tokens = new LRUCache<string, CachedToken>({
    ...maxEntries(maxTokens),
    dispose: (stored, hash) => ownersOf(stored).forEach((owner) => drop(hashesOf, owner, hash)),
  });
  const unknownHashes = new LRUCache<string, true>({ ...maxEntries(maxUnknown), ttl: unknownMilliseconds });
  const evict = {
    one: (id: string) => [...(hashesOf.get(id) ?? [])].forEach((hash) => tokens.delete(hash)),
    all: () => tokens.clear(),
  };
  invalidation.onInvalidate("token", evict);
  invalidation.onInvalidate("account", evict);
  return {
    get(hash) {
      if (unknownHashes.has(hash)) return "unknown";
      return invalidation.isFresh() ? tokens.get(hash) : undefined;
    },
    set(hash, stored, generation) {
      if (stored === undefined) {
        unknownHashes.set(hash, true);
        return;
      }
      if (generation !== invalidation.generation()) return;
      // Jitter, so that tokens first used together do not all expire together.
      tokens.set(hash, stored, { ttl: tokenMilliseconds * (0.8 + 0.4 * Math.random()) });
      for (const owner of ownersOf(stored)) {
        const hashes = hashesOf.get(owner);
        if (hashes === undefined) hashesOf.set(owner, new Set([hash]));
        else hashes.add(hash);
      }
    },
  };
}

function ownersOf({ id, accountId }: CachedToken): readonly string[] {
  return [id, accountId];
}

function drop(hashesOf: Map<string, Set<string>>, owner: string, hash: string): void {
  const hashes = hashesOf.get(owner);
  hashes?.delete(hash);
  if (hashes?.size === 0) hashesOf.delete(owner);
}
