/**
 * @module
 * The nodes of one Keep and what they tell each other: that something no longer holds. Every node reads what was
 * revoked several times a second, and at once when notified; what it remembers counts only while it does.
 * Promises that a node which cannot hear trusts nothing it remembers, and that time is the database's.
 * Imported by whoever remembers something between requests, and by `commands/serve.ts`.
 */

type ForgetKind = "token" | "session" | "account" | "vault";

type Forget = {
  readonly one: (subjectId: string) => void;
  /** When this node may have missed something. */
  readonly all: () => void;
};

export type CacheInvalidation = {
  onForget(kind: ForgetKind, forget: Forget): void;
  /** Whether what this node remembers can be trusted now; when not, ask the database. */
  isFresh(): boolean;
  /**
   * How often something was forgotten. Who asks the database to remember the answer notes this before asking, and
   * remembers only if it is the same afterwards: what was asked for may be revoked while the answer is on its way.
   */
  generation(): number;
  /** Milliseconds since 1970 by the database's clock, a little late rather than early. */
  databaseNow(): number;
};

export type Revoked = { readonly kind: ForgetKind; readonly subjectId: string };

export type Hearing = Pick<CacheInvalidation, "isFresh" | "databaseNow">;

export type CacheInvalidationHub = CacheInvalidation & {
  forget(revoked: readonly Revoked[]): void;
  forgetEverything(): void;
};

export function createCacheInvalidation(hearing: Hearing): CacheInvalidationHub {
  const listeners: (readonly [ForgetKind, Forget])[] = [];
  let generation = 0;
  return {
    ...hearing,
    onForget: (kind, forget) => void listeners.push([kind, forget]),
    generation: () => generation,
    forget(revoked) {
      if (revoked.length > 0) generation += 1;
      for (const { kind, subjectId } of revoked) {
        for (const [heard, forget] of listeners) if (heard === kind) forget.one(subjectId);
      }
    },
    forgetEverything() {
      generation += 1;
      for (const [, forget] of listeners) forget.all();
    },
  };
}
