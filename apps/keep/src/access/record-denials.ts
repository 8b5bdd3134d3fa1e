import type { AuditLog } from "../audit/audit-log.ts";
import { createRecordLimit } from "../audit/limit-records.ts";
import type { Actor } from "../authorization/actor.ts";
import type { RequestFailure } from "../failures.ts";

/** A denied request of a known caller. */
export type Denial = {
  readonly actor: Actor;
  readonly route: string;
  /** The secret's path if the request was denied because of it, else the path of the URL. */
  readonly target: string;
  readonly reason: string;
};

const denialKinds: ReadonlySet<RequestFailure["kind"]> = new Set([
  "insufficient-scope",
  "out-of-reach",
  "use-not-allowed",
  "vault-not-allowed",
  "grant-exceeded",
  "session-required",
  "operator-required",
  "role-required",
  "sign-in-too-old",
  "second-person-required",
  "approval-required",
]);

/** Whether this failure means that the caller asked for something it may not have. */
export function isDenial({ kind }: RequestFailure): boolean {
  return denialKinds.has(kind);
}

/** The secret's path if the failure names one. */
export function findDeniedPath(failure: RequestFailure): string | undefined {
  if (failure.kind === "out-of-reach") return failure.path;
  const isAtPath = failure.kind === "approval-required" && failure.subject.startsWith("/");
  return isAtPath ? failure.subject : undefined;
}

const maxTargetCharacters = 512;

/**
 * Records denied requests in the account's audit log, at most 100 per minute and account, so that repeated denials
 * cannot flood the log. The response does not wait for the record and does not depend on its success.
 */
export function createDenialRecorder(audit: Pick<AuditLog, "recordRead">): (denial: Denial) => void {
  const mayRecord = createRecordLimit();
  return ({ actor, route, target, reason }) => {
    const { accountId } = actor;
    if (!mayRecord(accountId)) return;
    const shortTarget = target.slice(0, maxTargetCharacters).toWellFormed();
    const event = { type: "denied", route, target: shortTarget, reason } as const;
    audit.recordRead({ accountId, by: actor, event }).catch(() => undefined);
  };
}
