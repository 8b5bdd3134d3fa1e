import { LRUCache } from "lru-cache";
import type { Grant } from "../authorization/grant.ts";
import { atMost } from "../cache-options.ts";
import type { Forgetting } from "../cluster/cache-invalidation.ts";

/** A token that holds, or held when the database was last asked. */
export type KnownToken = {
  readonly accountId: string;
  readonly id: string;
  readonly grant: Grant;
  /** The end of a rotated value's grace. */
  readonly validUntil: Date | null;
};

/** Tokens that hold, by the hashes of their values; and, for a moment, hashes that are nobody's. */
export type RememberedTokens = {
  get(hash: string): KnownToken | "nobody" | undefined;
  /** The generation is what `forgetting` said before the database was asked. */
  keep(hash: string, stored: KnownToken | undefined, generation: number): void;
};

const mostTokens = 50_000;
const tokenMilliseconds = 60_000;
const mostNobodies = 10_000;
const nobodyMilliseconds = 1000;

export function createRememberedTokens(forgetting: Forgetting): RememberedTokens {
  /** Which hashes belong to a token or an account, so that forgetting one costs nothing for the others. */
  const hashesOf = new Map<string, Set<string>>();
  const tokens = new LRUCache<string, KnownToken>({
    ...atMost(mostTokens),
    dispose: (stored, hash) => ownersOf(stored).forEach((owner) => drop(hashesOf, owner, hash)),
  });
  const nobodies = new LRUCache<string, true>({ ...atMost(mostNobodies), ttl: nobodyMilliseconds });
  const forget = {
    one: (id: string) => [...(hashesOf.get(id) ?? [])].forEach((hash) => tokens.delete(hash)),
    all: () => tokens.clear(),
  };
  forgetting.onForget("token", forget);
  forgetting.onForget("account", forget);
  return {
    get(hash) {
      if (nobodies.has(hash)) return "nobody";
      return forgetting.isFresh() ? tokens.get(hash) : undefined;
    },
    keep(hash, stored, generation) {
      if (stored === undefined) {
        nobodies.set(hash, true);
        return;
      }
      if (generation !== forgetting.generation()) return;
      // Not all at once, when many were first used at once.
      tokens.set(hash, stored, { ttl: tokenMilliseconds * (0.8 + 0.4 * Math.random()) });
      for (const owner of ownersOf(stored)) {
        const hashes = hashesOf.get(owner);
        if (hashes === undefined) hashesOf.set(owner, new Set([hash]));
        else hashes.add(hash);
      }
    },
  };
}

function ownersOf({ id, accountId }: KnownToken): readonly string[] {
  return [id, accountId];
}

function drop(hashesOf: Map<string, Set<string>>, owner: string, hash: string): void {
  const hashes = hashesOf.get(owner);
  hashes?.delete(hash);
  if (hashes?.size === 0) hashesOf.delete(owner);
}
