import { LRUCache } from "lru-cache";
import type { Actor } from "../authorization/actor.ts";
import { atMost } from "../cache-options.ts";
import type { Database } from "../database/open-database.ts";
import { type TokenUseRow, writeLastUsed } from "./queries.ts";

/** When each token was last used and from where; written down at most once a minute, and at the end. */
export type LastUsed = AsyncDisposable & {
  note(actor: Pick<Actor, "accountId" | "id" | "address">): void;
  flush(): Promise<void>;
};

const flushMilliseconds = 60_000;
const mostTokens = 100_000;

export function createLastUsed(database: Pick<Database, "inAccount">, databaseNow: () => number): LastUsed {
  let uses = new LRUCache<string, TokenUseRow & { readonly accountId: string }>({ ...atMost(mostTokens) });
  let flushing = Promise.resolve();
  const writeAll = async (): Promise<void> => {
    const noted = [...uses.values()];
    uses = new LRUCache({ ...atMost(mostTokens) });
    const byAccount = Map.groupBy(noted, ({ accountId }) => accountId);
    for (const [accountId, rows] of byAccount) {
      // What cannot be written is lost: it is for people to look at, and decides nothing.
      await database
        .inAccount(accountId, (transaction) => writeLastUsed(transaction, accountId, rows))
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
    note: ({ accountId, id, address }) =>
      void uses.set(id, { accountId, id, address, at: new Date(databaseNow()) }),
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await flush();
    },
  };
}
