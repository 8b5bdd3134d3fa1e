import { LRUCache } from "lru-cache";
import type { Actor } from "../authorization/actor.ts";
import { maxEntries } from "../cache-options.ts";
import type { Database } from "../database/open-database.ts";
import { type TokenUseRow, updateLastUsed } from "./queries.ts";

/** Records when and from where each token was last used; written to the database once a minute and on shutdown. */
export type LastUsed = AsyncDisposable & {
  readonly record: (actor: Pick<Actor, "accountId" | "id" | "address">) => void;
  flush(): Promise<void>;
};

const flushMilliseconds = 60_000;
const maxTokens = 100_000;

export function createLastUsed(database: Pick<Database, "inAccount">, databaseNow: () => number): LastUsed {
  let uses = new LRUCache<string, TokenUseRow & { readonly accountId: string }>({ ...maxEntries(maxTokens) });
  let flushing = Promise.resolve();
  const writeAll = async (): Promise<void> => {
    const recorded = [...uses.values()];
    uses = new LRUCache({ ...maxEntries(maxTokens) });
    const byAccount = Map.groupBy(recorded, ({ accountId }) => accountId);
    for (const [accountId, rows] of byAccount) {
      // A failed write is dropped: the data is informational only.
      await database
        .inAccount(accountId, (transaction) => updateLastUsed(transaction, accountId, rows))
        .catch(() => undefined);
    }
  };
  const flush = (): Promise<void> => {
    flushing = flushing.then(writeAll);
    return flushing;
  };
  const timer = setInterval(() => void flush(), flushMilliseconds);
  timer.unref();
  return {
    record: ({ accountId, id, address }) =>
      void uses.set(id, { accountId, id, address, at: new Date(databaseNow()) }, { size: 1 }),
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await flush();
    },
  };
}
