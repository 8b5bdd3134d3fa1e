import { isIdentityOf } from "../accounts/identity-mac.ts";
import type { Person } from "../accounts/person.ts";
import { readIdentityState } from "../accounts/queries.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import { fullGrant } from "../authorization/grant.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { requestFailure } from "../failures.ts";
import { generateId } from "../generate-id.ts";
import { lockEpochIfActive } from "../keys/row-integrity/account-epoch.ts";
import type { RowMacs } from "../keys/row-integrity/row-macs.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import {
  deleteExpiredSessions,
  findSession,
  insertSession,
  type ListedSession,
  listLiveSessions,
  type StoredSession,
  touchSession,
} from "./queries.ts";
import { generateRandomToken, hashText, isRandomToken } from "./random-tokens.ts";

export type SessionDependencies = {
  readonly database: Pick<Database, "query" | "queryInAccount" | "inAccount">;
  readonly audit: AuditLog;
  readonly limits: SessionLimits;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
};

export type SessionLimits = { readonly idleMinutes: number; readonly lifetimeHours: number };

/** The client's details that the session list shows. */
export type SessionClient = { readonly address: string; readonly userAgent: string | undefined };

/** The token is the cookie's value; only its hash is stored. */
export type StartedSession = { readonly id: string; readonly token: string };

export type SessionOptions = {
  readonly accountId: string;
  readonly identityId: string;
  readonly person: Person;
  readonly client: SessionClient;
};

const maxUserAgentCharacters = 512;
/** Every revocation signs the remaining sessions again, so their number is limited. All of them are listed. */
export const maxLiveSessions = 200;

/**
 * Always creates a new session, which prevents session fixation. Throws unless the account's identity is of this person:
 * the route that led to the account could have been changed in the database.
 */
export async function startSession(
  transaction: Transaction,
  { accountId, identityId, person, client }: SessionOptions,
  { audit, limits, serverKeys: { rowMacs } }: Pick<SessionDependencies, "audit" | "limits" | "serverKeys">,
): Promise<StartedSession | "account-inactive" | "identity-missing"> {
  const epoch = await lockEpochIfActive(transaction, accountId, rowMacs);
  if (epoch === undefined) return "account-inactive";
  const identity = await readIdentityState(transaction, { accountId, identityId });
  if (identity === undefined) return "identity-missing";
  const { now } = identity;
  if (!isIdentityOf(person, { accountId, identityId, epoch, ...identity }, rowMacs))
    throw requestFailure({ kind: "integrity-broken" });
  const text = generateRandomToken();
  const session = {
    accountId,
    id: generateId(),
    sessionHash: hashText(text),
    identityId,
    authenticatedAt: now,
    absoluteUntil: new Date(now.getTime() + limits.lifetimeHours * 3_600_000),
  };
  await insertSession(transaction, {
    ...session,
    mac: rowMacs.compute({ session, epoch }),
    address: client.address,
    userAgent: client.userAgent?.slice(0, maxUserAgentCharacters).toWellFormed() ?? null,
    idleMinutes: limits.idleMinutes,
  });
  await deleteExpiredSessions(transaction, accountId);
  audit.record(transaction, {
    accountId,
    by: { kind: "session", id: session.id, address: client.address },
    event: { type: "signed-in", identity: identityId, provider: person.provider },
  });
  return { id: session.id, token: text };
}

type SessionCheck = Pick<SessionDependencies, "database" | "limits" | "serverKeys"> & {
  /** Called when a stored session was modified outside Keep. */
  readonly onIntegrityError?: (accountId: string) => void;
};

/** Undefined when the session is not valid; the reason is not exposed. */
export async function checkSession(
  text: string,
  address: string,
  { database, limits, serverKeys, onIntegrityError }: SessionCheck,
): Promise<Actor | undefined> {
  if (!isRandomToken(text)) return undefined;
  const stored = await findSession(database, hashText(text));
  if (stored === undefined) return undefined;
  const { accountId, id, identityId, authenticatedAt, now, wasSeenRecently } = stored;
  if (!isGenuineSession(stored, serverKeys.rowMacs)) {
    onIntegrityError?.(accountId);
    return undefined;
  }
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
    authenticatedAt: new Date(Date.now() - (now.getTime() - authenticatedAt.getTime())),
    identityId,
    isOperator: stored.account.isOperator,
  };
}

function isGenuineSession(
  { mac, account: { mac: accountMac, ...account }, ...session }: StoredSession,
  rowMacs: Pick<RowMacs, "isGenuine">,
): boolean {
  return (
    rowMacs.isGenuine({ account }, accountMac) &&
    rowMacs.isGenuine({ session, epoch: account.epoch }, mac) &&
    // The MAC covers this time, and not the result of the query's own comparison.
    session.absoluteUntil > session.now
  );
}

export function listSessions(
  actor: Pick<Actor, "accountId">,
  { database }: { readonly database: Pick<Database, "queryInAccount"> },
): Promise<readonly ListedSession[]> {
  return listLiveSessions(database, actor.accountId, maxLiveSessions);
}
