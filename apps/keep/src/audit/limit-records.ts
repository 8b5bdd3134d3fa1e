import { LRUCache } from "lru-cache";
import { maxEntries } from "../cache-options.ts";

const maxPerMinute = 100;
const maxAccounts = 10_000;
const minute = 60_000;

/**
 * Whether one more record may be added to an account's log, at most 100 per minute on this node: for what others can cause
 * as often as they like, so that it cannot flood the log.
 */
export function createRecordLimit(): (accountId: string) => boolean {
  const counts = new LRUCache<string, { recorded: number }>({ ...maxEntries(maxAccounts), ttl: minute });
  return (accountId) => {
    const count = counts.get(accountId) ?? { recorded: 0 };
    if (count.recorded === 0) counts.set(accountId, count);
    if (count.recorded >= maxPerMinute) return false;
    count.recorded += 1;
    return true;
  };
}
