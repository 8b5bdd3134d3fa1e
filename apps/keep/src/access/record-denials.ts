import { LRUCache } from "lru-cache";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { maxEntries } from "../cache-options.ts";
import type { RequestFailure } from "../failures.ts";

/** One request that somebody we know was not allowed. */
export type Denial = { readonly actor: Actor; readonly route: string; readonly kind: RequestFailure["kind"] };

const denials: ReadonlySet<RequestFailure["kind"]> = new Set([
  "insufficient-scope",
  "out-of-reach",
  "grant-exceeded",
  "session-required",
  "sign-in-too-old",
]);
const mostPerMinute = 100;
const mostAccounts = 10_000;
const minute = 60_000;

/**
 * Records denied requests on the account's chain, a hundred a minute of each account: whoever keeps knocking does not
 * fill the log. The answer never waits for the record, and is the same when it fails.
 */
export function createDenialRecorder(audit: Pick<AuditLog, "recordRead">): (denial: Denial) => void {
  const counts = new LRUCache<string, { recorded: number }>({ ...maxEntries(mostAccounts), ttl: minute });
  return ({ actor, route, kind }) => {
    if (!denials.has(kind)) return;
    const { accountId } = actor;
    const count = counts.get(accountId) ?? { recorded: 0 };
    if (count.recorded === 0) counts.set(accountId, count);
    if (count.recorded >= mostPerMinute) return;
    count.recorded += 1;
    const event = { type: "denied", route, reason: kind } as const;
    audit.recordRead(accountId, { chain: accountId, by: actor, event }).catch(() => undefined);
  };
}
