import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { fullGrant } from "../authorization/grant.ts";
import { notifyNodes } from "../cluster/queries.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import {
  deleteExpiredSessions,
  endSessionRows,
  findSession,
  insertSession,
  type ListedSession,
  listLiveSessions,
  touchSession,
  type WhichSessions,
} from "./queries.ts";
import { hashText, isSecretText, makeSecretText } from "./random-tokens.ts";

export type SessionDependencies = {
  readonly database: Pick<Database, "ask" | "askInAccount" | "inAccount">;
  readonly audit: AuditLog;
  readonly limits: SessionLimits;
};

export type SessionLimits = { readonly idleMinutes: number; readonly lifetimeHours: number };

/** The browser that asks, as far as it is shown to its owner later. */
export type Visitor = { readonly address: string; readonly userAgent: string | undefined };

/** The text is what the browser keeps; nothing of it but its hash is stored. */
export type StartedSession = { readonly id: string; readonly text: string };

export type SessionPlan = {
  readonly accountId: string;
  readonly identityId: string;
  readonly provider: string;
  readonly visitor: Visitor;
};

const mostUserAgentCharacters = 512;
const mostListed = 200;

/** Always a new one, whatever the browser had before. Undefined when the account is not active any more. */
export async function startSession(
  transaction: Transaction,
  { accountId, identityId, provider, visitor }: SessionPlan,
  { audit, limits }: Pick<SessionDependencies, "audit" | "limits">,
): Promise<StartedSession | undefined> {
  const id = generateId();
  const text = makeSecretText();
  const isStarted = await insertSession(transaction, {
    accountId,
    id,
    hash: hashText(text),
    identityId,
    address: visitor.address,
    userAgent: visitor.userAgent?.slice(0, mostUserAgentCharacters).toWellFormed() ?? null,
    ...limits,
  });
  if (!isStarted) return undefined;
  await deleteExpiredSessions(transaction, accountId);
  await audit.record(transaction, {
    chain: accountId,
    by: { kind: "session", id, address: visitor.address },
    event: { type: "signed-in", identity: identityId, provider },
  });
  return { id, text };
}

/** Undefined when the session does not hold, for whatever reason. */
export async function checkSession(
  text: string,
  address: string,
  { database, limits }: Pick<SessionDependencies, "database" | "limits">,
): Promise<Actor | undefined> {
  if (!isSecretText(text)) return undefined;
  const stored = await findSession(database, hashText(text));
  if (stored === undefined) return undefined;
  const { accountId, id, identityId, authenticatedSecondsAgo, isSeenLately } = stored;
  // At most once a minute: a write for every request would be one too many.
  if (!isSeenLately) {
    await database.inAccount(accountId, (transaction) =>
      touchSession(transaction, stored, limits.idleMinutes),
    );
  }
  return {
    accountId,
    kind: "session",
    id,
    grant: fullGrant,
    address,
    // As our own clock has it, so that a clock that is wrong here makes nothing fresh or stale.
    authenticatedAt: new Date(Date.now() - authenticatedSecondsAgo * 1000),
    identityId,
  };
}

export function listSessions(
  actor: Pick<Actor, "accountId">,
  { database }: { readonly database: Pick<Database, "askInAccount"> },
): Promise<readonly ListedSession[]> {
  return listLiveSessions(database, actor.accountId, mostListed);
}

/** On every node, and in the transaction that is given. Gives how many held until now. */
export async function endSessions(
  transaction: Transaction,
  { by, which }: { readonly by: Actor; readonly which: WhichSessions },
  { audit }: Pick<SessionDependencies, "audit">,
): Promise<number> {
  const ended = await endSessionRows(transaction, by.accountId, which);
  for (const session of ended) {
    await audit.record(transaction, {
      chain: by.accountId,
      by,
      event: { type: "session-ended", session },
    });
  }
  const revoked = ended.map((subjectId) => ({ kind: "session" as const, subjectId }));
  if (revoked.length > 0) await notifyNodes(transaction, by.accountId, revoked);
  return ended.length;
}

/** One's own, by its id; one that is not there is nobody's. */
export async function endOneSession(
  transaction: Transaction,
  { by, id }: { readonly by: Actor; readonly id: string },
  parts: Pick<SessionDependencies, "audit">,
): Promise<void> {
  const ended = await endSessions(transaction, { by, which: { only: id } }, parts);
  if (ended === 0) throw requestFailure({ kind: "not-found" });
}
