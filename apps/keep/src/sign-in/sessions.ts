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
  findSession,
  insertSession,
  type ListedSession,
  listLiveSessions,
  revokeSessionRows,
  type SessionSelector,
  touchSession,
} from "./queries.ts";
import { generateRandomToken, hashText, isRandomToken } from "./random-tokens.ts";

export type SessionDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount">;
  readonly audit: AuditLog;
  readonly limits: SessionLimits;
};

export type SessionLimits = { readonly idleMinutes: number; readonly lifetimeHours: number };

/** The client's details that the session list shows. */
export type SessionClient = { readonly address: string; readonly userAgent: string | undefined };

/** The token is the cookie's value; only its hash is stored. */
export type StartedSession = { readonly id: string; readonly token: string };

export type SessionOptions = {
  readonly accountId: string;
  readonly identityId: string;
  readonly provider: string;
  readonly client: SessionClient;
};

const maxUserAgentCharacters = 512;
const maxListedSessions = 200;

/** Always creates a new session, which prevents session fixation. Undefined when the account is no longer active. */
export async function startSession(
  transaction: Transaction,
  { accountId, identityId, provider, client }: SessionOptions,
  { audit, limits }: Pick<SessionDependencies, "audit" | "limits">,
): Promise<StartedSession | undefined> {
  const id = generateId();
  const text = generateRandomToken();
  const isStarted = await insertSession(transaction, {
    accountId,
    id,
    hash: hashText(text),
    identityId,
    address: client.address,
    userAgent: client.userAgent?.slice(0, maxUserAgentCharacters).toWellFormed() ?? null,
    ...limits,
  });
  if (!isStarted) return undefined;
  await deleteExpiredSessions(transaction, accountId);
  await audit.record(transaction, {
    chain: accountId,
    by: { kind: "session", id, address: client.address },
    event: { type: "signed-in", identity: identityId, provider },
  });
  return { id, token: text };
}

/** Undefined when the session is not valid; the reason is not exposed. */
export async function checkSession(
  text: string,
  address: string,
  { database, limits }: Pick<SessionDependencies, "database" | "limits">,
): Promise<Actor | undefined> {
  if (!isRandomToken(text)) return undefined;
  const stored = await findSession(database, hashText(text));
  if (stored === undefined) return undefined;
  const { accountId, id, identityId, authenticatedSecondsAgo, wasSeenRecently } = stored;
  // At most once a minute, to avoid a write per request.
  if (!wasSeenRecently) {
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
    // Converted to this machine's clock, so that a wrong clock does not affect the freshness check.
    authenticatedAt: new Date(Date.now() - authenticatedSecondsAgo * 1000),
    identityId,
  };
}

export function listSessions(
  actor: Pick<Actor, "accountId">,
  { database }: { readonly database: Pick<Database, "queryInAccount"> },
): Promise<readonly ListedSession[]> {
  return listLiveSessions(database, actor.accountId, maxListedSessions);
}

/** Revokes sessions on every node when the transaction commits; returns how many were still active. */
export async function revokeSessions(
  transaction: Transaction,
  { by, selector }: { readonly by: Actor; readonly selector: SessionSelector },
  { audit }: Pick<SessionDependencies, "audit">,
): Promise<number> {
  const revoked = await revokeSessionRows(transaction, by.accountId, selector);
  for (const session of revoked) {
    await audit.record(transaction, {
      chain: by.accountId,
      by,
      event: { type: "session-ended", session },
    });
  }
  const revocations = revoked.map((subjectId) => ({ kind: "session" as const, subjectId }));
  if (revocations.length > 0) await notifyNodes(transaction, by.accountId, revocations);
  return revoked.length;
}

/** Revokes one session of the actor's account; throws "not found" if it does not exist. */
export async function revokeSession(
  transaction: Transaction,
  { by, id }: { readonly by: Actor; readonly id: string },
  dependencies: Pick<SessionDependencies, "audit">,
): Promise<void> {
  const revoked = await revokeSessions(transaction, { by, selector: { only: id } }, dependencies);
  if (revoked === 0) throw requestFailure({ kind: "not-found" });
}
