import type { AuditActor } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { inNewEpoch } from "../keys/row-integrity/account-epoch.ts";
import type { RowOfEpoch } from "../keys/row-integrity/row-macs.ts";
import { listSurplusSessions, revokeSessionRows, type SessionSelector } from "./queries.ts";
import { maxLiveSessions, type SessionDependencies } from "./sessions.ts";

export type RevocationDependencies = Pick<SessionDependencies, "audit" | "serverKeys">;

type SessionRevocation = {
  readonly accountId: string;
  readonly by: AuditActor;
  readonly selector: SessionSelector;
};

/** Revokes sessions on every node when the transaction commits; returns how many were still active. */
export async function revokeSessions(
  transaction: Transaction,
  { accountId, by, selector }: SessionRevocation,
  { audit, serverKeys: { rowMacs } }: RevocationDependencies,
): Promise<number> {
  const sessions = await inNewEpoch(transaction, { accountId, rowMacs }, async () => ({
    result: await revokeSessionRows(transaction, accountId, selector),
    isRevoked: (row) => isSelectedSession(row, selector),
  }));
  await reportRevokedSessions(transaction, { accountId, by, sessions }, { audit });
  return sessions.length;
}

/** Revokes one session of the actor's account; throws "not found" if it does not exist. */
export async function revokeSession(
  transaction: Transaction,
  { by, id }: { readonly by: Actor; readonly id: string },
  dependencies: RevocationDependencies,
): Promise<void> {
  const revocation = { accountId: by.accountId, by, selector: { only: [id] } };
  const revoked = await revokeSessions(transaction, revocation, dependencies);
  if (revoked === 0) throw requestFailure({ kind: "not-found" });
}

/** After a sign-in: revokes the session that it replaces, and the least recently used ones beyond the limit. */
export async function revokeReplacedSessions(
  transaction: Transaction,
  { accountId, replaced }: { readonly accountId: string; readonly replaced: Actor | undefined },
  dependencies: RevocationDependencies,
): Promise<void> {
  const surplus = await listSurplusSessions(transaction, accountId, maxLiveSessions);
  const only = [...(replaced === undefined ? [] : [replaced.id]), ...surplus];
  if (only.length === 0) return;
  const revocation = { accountId, by: replaced ?? "server", selector: { only } } as const;
  await revokeSessions(transaction, revocation, dependencies);
}

/** For the new epoch that a revocation starts; the same condition as in `revokeSessionRows`. */
export function isSelectedSession(row: RowOfEpoch, selector: SessionSelector): boolean {
  if (!("session" in row)) return false;
  if (selector === "all") return true;
  const { id, identityId } = row.session;
  if ("only" in selector) return selector.only.includes(id);
  return "allBut" in selector ? id !== selector.allBut : identityId === selector.ofIdentity;
}

type RevokedSessions = {
  readonly accountId: string;
  readonly by: AuditActor;
  readonly sessions: readonly string[];
};

/** Records the revocations and publishes them to all nodes. */
export async function reportRevokedSessions(
  transaction: Transaction,
  { accountId, by, sessions }: RevokedSessions,
  { audit }: Pick<SessionDependencies, "audit">,
): Promise<void> {
  if (sessions.length === 0) return;
  const entries = sessions.map(
    (session) => ({ accountId, by, event: { type: "session-ended", session } }) as const,
  );
  audit.record(transaction, ...entries);
  const revocations = sessions.map((subjectId) => ({ kind: "session" as const, subjectId }));
  await notifyNodes(transaction, accountId, revocations);
}
