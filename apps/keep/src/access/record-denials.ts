import { LRUCache } from "lru-cache";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { maxEntries } from "../cache-options.ts";
import type { RequestFailure } from "../failures.ts";

/** A denied request of an authenticated caller. */
export type Denial = { readonly actor: Actor; readonly route: string; readonly kind: RequestFailure["kind"] };

const denialKinds: ReadonlySet<RequestFailure["kind"]> = new Set([
  "insufficient-scope",
  "out-of-reach",
  "grant-exceeded",
  "session-required",
  "sign-in-too-old",
]);
const maxPerMinute = 100;
const maxAccounts = 10_000;
const minute = 60_000;

/**
 * Records denied requests on the account's audit chain, at most 100 per minute and account, so that repeated denials
 * cannot flood the log. The response does not wait for the record and does not depend on its success.
 */
export function createDenialRecorder(audit: Pick<AuditLog, "recordRead">): (denial: Denial) => void {
  const counts = new LRUCache<string, { recorded: number }>({ ...maxEntries(maxAccounts), ttl: minute });
  return ({ actor, route, kind }) => {
    if (!denialKinds.has(kind)) return;
    const { accountId } = actor;
    const count = counts.get(accountId) ?? { recorded: 0 };
    if (count.recorded === 0) counts.set(accountId, count);
    if (count.recorded >= maxPerMinute) return;
    count.recorded += 1;
    const event = { type: "denied", route, reason: kind } as const;
    audit.recordRead(accountId, { chain: accountId, by: actor, event }).catch(() => undefined);
  };
}
