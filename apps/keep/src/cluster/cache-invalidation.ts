/**
 * @module
 * Cache invalidation across nodes. Every node polls for revocations several times a second, and immediately when
 * notified, and uses its caches only while polling succeeds. Guarantees that a node that cannot receive revocations
 * does not use its caches, and that expiry is decided by the database's clock.
 * Imported by code that caches between requests, and by `commands/serve.ts`.
 */

/** "access" is of an organisation: its members, teams or grants have changed. */
type SubjectKind = "token" | "session" | "account" | "vault" | "access";

type InvalidationHandler = {
  readonly one: (subjectId: string) => void;
  /** Called when this node may have missed a revocation. */
  readonly all: () => void;
};

export type CacheInvalidation = {
  onInvalidate(kind: SubjectKind, handler: InvalidationHandler): void;
  /** Whether caches may be used now; otherwise query the database. */
  isFresh(): boolean;
  /**
   * Incremented by every invalidation. Read it before querying the database, and cache the result only if it is unchanged
   * afterwards: the row may have been revoked while the query was running.
   */
  generation(): number;
  /** Milliseconds since 1970 by the database's clock; the estimate may run ahead by a round trip, never behind. */
  readonly databaseNow: () => number;
};

export type Revocation = { readonly kind: SubjectKind; readonly subjectId: string };

export type DatabaseClock = Pick<CacheInvalidation, "isFresh" | "databaseNow">;

export type CacheInvalidationHub = CacheInvalidation & {
  invalidate(revocations: readonly Revocation[]): void;
  invalidateAll(): void;
};

export function createCacheInvalidation(clock: DatabaseClock): CacheInvalidationHub {
  const listeners: (readonly [SubjectKind, InvalidationHandler])[] = [];
  let generation = 0;
  return {
    ...clock,
    onInvalidate: (kind, handler) => void listeners.push([kind, handler]),
    generation: () => generation,
    invalidate(revocations) {
      if (revocations.length > 0) generation += 1;
      for (const { kind, subjectId } of revocations) {
        for (const [listenerKind, handler] of listeners) if (listenerKind === kind) handler.one(subjectId);
      }
    },
    invalidateAll() {
      generation += 1;
      for (const [, handler] of listeners) handler.all();
    },
  };
}
