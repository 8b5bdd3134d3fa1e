import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import {
  type JoinedAccount,
  joinedAccountColumns,
  type Signed,
  splitAccount,
} from "../keys/row-integrity/queries.ts";
import type { AccountRow, SessionRow } from "../keys/row-integrity/row-macs.ts";
import type { ProviderKind } from "./identity-provider.ts";

export type Purpose = "sign-in" | "link" | "confirm";

/** A started sign-in. `accountId` and `sessionId` are set only when a signed-in person links or confirms an identity. */
export type Attempt = {
  readonly provider: ProviderKind;
  readonly purpose: Purpose;
  readonly accountId: string | null;
  readonly sessionId: string | null;
  readonly sealed: Buffer;
  readonly returnTo: string;
};

export type AttemptKey = { readonly stateHash: Buffer; readonly binderHash: Buffer };

const maxDeletedAttempts = 100;

/** Whether anyone signed in with another issuer than this one. */
export async function hasOtherIssuer(database: Pick<Database, "query">, issuer: string): Promise<boolean> {
  const rows = await database.query({
    text: "SELECT FROM identity_route WHERE issuer <> $1 LIMIT 1",
    values: [issuer],
  });
  return rows.length > 0;
}

export async function insertAttempt(
  database: Pick<Database, "query">,
  { stateHash, binderHash }: AttemptKey,
  attempt: Attempt & { readonly seconds: number },
): Promise<void> {
  await database.query({
    text: "INSERT INTO sign_in_attempt (state_hash, binder_hash, provider, purpose, account_id, session_id, sealed, return_to, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))",
    values: [
      stateHash,
      binderHash,
      attempt.provider,
      attempt.purpose,
      attempt.accountId,
      attempt.sessionId,
      attempt.sealed,
      attempt.returnTo,
      attempt.seconds,
    ],
  });
}

/** Deletes a batch of expired attempts. Called on every sign-in, so that the table does not grow without bound. */
export async function deleteExpiredAttempts(database: Pick<Database, "query">): Promise<void> {
  await database.query({
    text: "DELETE FROM sign_in_attempt WHERE state_hash IN (SELECT state_hash FROM sign_in_attempt WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)",
    values: [maxDeletedAttempts],
  });
}

type AttemptRow = {
  purpose: Purpose;
  account_id: string | null;
  session_id: string | null;
  sealed: Buffer;
  return_to: string;
};

/** Marks the attempt as used. Undefined unless it exists for this provider and browser, is unexpired and unused. */
export async function consumeAttempt(
  database: Pick<Database, "query">,
  { stateHash, binderHash }: AttemptKey,
  provider: ProviderKind,
): Promise<Attempt | undefined> {
  const [row] = await database.query<AttemptRow>({
    text: "UPDATE sign_in_attempt SET used_at = now() WHERE state_hash = $1 AND binder_hash = $2 AND provider = $3 AND used_at IS NULL AND expires_at > now() RETURNING purpose, account_id, session_id, sealed, return_to",
    values: [stateHash, binderHash, provider],
  });
  if (row === undefined) return undefined;
  return {
    provider,
    purpose: row.purpose,
    accountId: row.account_id,
    sessionId: row.session_id,
    sealed: row.sealed,
    returnTo: row.return_to,
  };
}

export type NewSession = SessionRow & {
  readonly mac: Buffer;
  readonly address: string;
  readonly userAgent: string | null;
  readonly idleMinutes: number;
};

export async function insertSession(transaction: Transaction, session: NewSession): Promise<void> {
  await transaction.query({
    text: "INSERT INTO session (account_id, id, session_hash, identity_id, authenticated_at, absolute_until, mac, address, user_agent, idle_until) VALUES ($1, $2, $3, $4, $5, $6::timestamptz, $7, $8, $9, least(now() + make_interval(mins => $10), $6::timestamptz))",
    values: [
      session.accountId,
      session.id,
      session.sessionHash,
      session.identityId,
      session.authenticatedAt,
      session.absoluteUntil,
      session.mac,
      session.address,
      session.userAgent,
      session.idleMinutes,
    ],
  });
  await transaction.query({
    text: "INSERT INTO session_route (session_hash, account_id, session_id) VALUES ($1, $2, $3)",
    values: [session.sessionHash, session.accountId, session.id],
  });
}

/** Deletes sessions that ended more than 30 days ago, with their routes. */
export async function deleteExpiredSessions(transaction: Transaction, accountId: string): Promise<void> {
  await transaction.query({
    text: "WITH dead AS (DELETE FROM session WHERE account_id = $1 AND least(ended_at, idle_until, absolute_until) < now() - interval '30 days' RETURNING session_hash) DELETE FROM session_route USING dead WHERE session_route.session_hash = dead.session_hash",
    values: [accountId],
  });
}

/** A session that has not ended or expired, with the MACs of its row and its account. */
export type StoredSession = SessionRow & {
  readonly mac: Buffer | null;
  readonly account: Signed<AccountRow>;
  /** By the database's clock. */
  readonly now: Date;
  readonly wasSeenRecently: boolean;
};

type FoundSessionRow = Pick<
  StoredSession,
  "identityId" | "authenticatedAt" | "absoluteUntil" | "mac" | "now" | "wasSeenRecently"
> &
  JoinedAccount;

/**
 * Finds the account by the hash, then the session in it. Two statements, so that accounts can be on different servers. The
 * session's MAC covers the hash and the account, so the route needs none.
 */
export async function findSession(
  database: Pick<Database, "query" | "queryInAccount">,
  sessionHash: Buffer,
): Promise<StoredSession | undefined> {
  const [route] = await database.query<{ account_id: string; session_id: string }>({
    name: "find-session-route",
    text: "SELECT account_id, session_id FROM session_route WHERE session_hash = $1",
    values: [sessionHash],
  });
  if (route === undefined) return undefined;
  const { account_id: accountId, session_id: id } = route;
  const [row] = await database.queryInAccount<FoundSessionRow>(accountId, {
    name: "find-session",
    connection: "system",
    text: `SELECT identity_id AS "identityId", authenticated_at AS "authenticatedAt", absolute_until AS "absoluteUntil", session.mac, now() AS now, last_seen_at > now() - interval '1 minute' AS "wasSeenRecently", ${joinedAccountColumns} FROM session JOIN account USING (account_id) WHERE account_id = entered.account::uuid AND session.id = $2 AND session_hash = $3 AND ended_at IS NULL AND idle_until > now() AND absolute_until > now() AND account.status = 'active'`,
    values: [id, sessionHash],
  });
  if (row === undefined) return undefined;
  const { account, rest } = splitAccount(accountId, row);
  return { ...rest, accountId, id, sessionHash, account };
}

/** Those of the hashes that belong to a session. */
export async function findStoredSessions(
  database: Pick<Database, "query">,
  hashes: readonly Buffer[],
): Promise<readonly Buffer[]> {
  const rows = await database.query<{ hash: Buffer }>({
    name: "find-stored-sessions",
    text: "SELECT session_hash AS hash FROM session_route WHERE session_hash = ANY ($1)",
    values: [hashes],
  });
  return rows.map(({ hash }) => hash);
}

/** Extends the idle timeout up to the absolute one, unless the session has ended in the meantime. */
export async function touchSession(
  transaction: Transaction,
  { accountId, id }: Pick<StoredSession, "accountId" | "id">,
  idleMinutes: number,
): Promise<void> {
  await transaction.query({
    text: "UPDATE session SET last_seen_at = now(), idle_until = least(now() + make_interval(mins => $3), absolute_until) WHERE account_id = $1 AND id = $2 AND ended_at IS NULL AND idle_until > now() AND absolute_until > now() AND last_seen_at <= now() - interval '1 minute'",
    values: [accountId, id, idleMinutes],
  });
}

export type ListedSession = {
  readonly id: string;
  readonly identity_id: string;
  readonly created_at: Date;
  readonly authenticated_at: Date;
  readonly last_seen_at: Date;
  readonly idle_until: Date;
  readonly absolute_until: Date;
  readonly address: string;
  readonly user_agent: string | null;
};

/** Valid sessions, newest first. */
export async function listLiveSessions(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  limit: number,
): Promise<readonly ListedSession[]> {
  return database.queryInAccount<ListedSession>(accountId, {
    text: "SELECT id, identity_id, created_at, authenticated_at, last_seen_at, idle_until, absolute_until, address, user_agent FROM live_session WHERE account_id = entered.account::uuid ORDER BY id DESC LIMIT $2",
    values: [limit],
  });
}

/** Valid sessions beyond the newest by use. */
export async function listSurplusSessions(
  transaction: Transaction,
  accountId: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await transaction.query<{ id: string }>({
    text: "SELECT id FROM live_session WHERE account_id = $1 ORDER BY last_seen_at DESC, id DESC OFFSET $2",
    values: [accountId, limit],
  });
  return rows.map(({ id }) => id);
}

/** All sessions of an account, some, all except one, or those of an identity. */
export type SessionSelector =
  | "all"
  | { readonly only: readonly string[] }
  | { readonly allBut: string }
  | { readonly ofIdentity: string };

/** Ends the sessions and deletes their routes; returns the ids of those that were still active. */
export async function revokeSessionRows(
  transaction: Transaction,
  accountId: string,
  selector: SessionSelector,
): Promise<readonly string[]> {
  const chosen = selector === "all" ? {} : selector;
  const [only, allBut, ofIdentity] = [
    "only" in chosen ? chosen.only : null,
    "allBut" in chosen ? chosen.allBut : null,
    "ofIdentity" in chosen ? chosen.ofIdentity : null,
  ];
  const revoked = await transaction.query<{ id: string; session_hash: Buffer }>({
    text: "UPDATE session SET ended_at = now() WHERE account_id = $1 AND ended_at IS NULL AND ($2::uuid[] IS NULL OR id = ANY ($2)) AND ($3::uuid IS NULL OR id <> $3) AND ($4::uuid IS NULL OR identity_id = $4) RETURNING id, session_hash",
    values: [accountId, only, allBut, ofIdentity],
  });
  if (revoked.length === 0) return [];
  const ids = revoked.map(({ id }) => id);
  await transaction.query({
    text: "DELETE FROM session_route WHERE session_hash = ANY ($1)",
    values: [revoked.map((row) => row.session_hash)],
  });
  return ids;
}

/** Deletes the sessions of the account, with their routes. */
export async function deleteSessions(transaction: Transaction, accountId: string): Promise<void> {
  await transaction.query({
    text: "WITH gone AS (DELETE FROM session WHERE account_id = $1 RETURNING session_hash) DELETE FROM session_route USING gone WHERE session_route.session_hash = gone.session_hash",
    values: [accountId],
  });
}
