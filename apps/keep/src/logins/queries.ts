import type { LoginPermission } from "@hearth-and-keep/vault-contract";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";

/** What a person decided, in which account and session. */
export type Decision = {
  readonly decision: "approve" | "deny";
  readonly accountId: string;
  readonly personId: string;
  readonly sessionId: string;
};

/** A login as stored; its MAC covers every field. */
export type Login = {
  readonly codeHash: Buffer;
  /** Null for a redirect. */
  readonly userCodeHash: Buffer | null;
  /** Null for a device. */
  readonly codeChallenge: string | null;
  readonly machine: string;
  readonly address: string;
  readonly permission: LoginPermission;
  readonly expiresAt: Date;
} & (Decision | { readonly [Name in keyof Decision]: null });

export type StoredLogin = Login & { readonly mac: Buffer };

type LoginDatabase = Pick<Database | Transaction, "query">;

const columns = `code_hash AS "codeHash", user_code_hash AS "userCodeHash", code_challenge AS "codeChallenge", machine, address, permission, expires_at AS "expiresAt", decision, account_id AS "accountId", person_id AS "personId", session_id AS "sessionId", mac`;
const maxDeletedLogins = 100;

/** Also deletes a batch of expired logins, so that the table does not grow without bound. */
export async function insertLogin(database: LoginDatabase, login: StoredLogin): Promise<void> {
  await database.query({
    text: "DELETE FROM command_line_login WHERE code_hash IN (SELECT code_hash FROM command_line_login WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)",
    values: [maxDeletedLogins],
  });
  await database.query({
    text: "INSERT INTO command_line_login (code_hash, user_code_hash, code_challenge, machine, address, permission, expires_at, decision, account_id, person_id, session_id, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    values: [
      login.codeHash,
      login.userCodeHash,
      login.codeChallenge,
      login.machine,
      login.address,
      login.permission,
      login.expiresAt,
      login.decision,
      login.accountId,
      login.personId,
      login.sessionId,
      login.mac,
    ],
  });
}

/** A login that nobody has decided. */
export async function findUndecidedLogin(
  database: LoginDatabase,
  userCodeHash: Buffer,
): Promise<StoredLogin | undefined> {
  const [row] = await database.query<StoredLogin>({
    text: `SELECT ${columns} FROM command_line_login WHERE user_code_hash = $1 AND decision IS NULL AND expires_at > now()`,
    values: [userCodeHash],
  });
  return row;
}

/** False when it was decided or replaced in between. */
export async function decideLogin(
  database: LoginDatabase,
  undecided: StoredLogin,
  { mac, ...login }: Decision & Pick<StoredLogin, "mac">,
): Promise<boolean> {
  const rows = await database.query({
    text: "UPDATE command_line_login SET decision = $3, account_id = $4, person_id = $5, session_id = $6, mac = $7 WHERE code_hash = $1 AND mac = $2 AND decision IS NULL RETURNING 1",
    values: [
      undecided.codeHash,
      undecided.mac,
      login.decision,
      login.accountId,
      login.personId,
      login.sessionId,
      mac,
    ],
  });
  return rows.length > 0;
}

/** Records the request of a device. `isTooEarly` compares it with the one before. */
export async function pollLogin(
  database: LoginDatabase,
  codeHash: Buffer,
  intervalSeconds: number,
): Promise<
  { readonly isTooEarly: boolean; readonly isDecided: boolean; readonly isExpired: boolean } | undefined
> {
  const [row] = await database.query<{ isTooEarly: boolean; isDecided: boolean; isExpired: boolean }>({
    text: `UPDATE command_line_login AS login SET polled_at = clock_timestamp() FROM (SELECT code_hash, polled_at FROM command_line_login WHERE code_hash = $1 FOR UPDATE) AS before WHERE login.code_hash = before.code_hash RETURNING coalesce(before.polled_at > clock_timestamp() - make_interval(secs => $2), false) AS "isTooEarly", decision IS NOT NULL AS "isDecided", expires_at <= now() AS "isExpired"`,
    values: [codeHash, intervalSeconds],
  });
  return row;
}

/** Deletes the login, so that only one of several requests gets it. Also an expired one. */
export async function takeLogin(
  database: LoginDatabase,
  codeHash: Buffer,
): Promise<(StoredLogin & { readonly isExpired: boolean }) | undefined> {
  const [row] = await database.query<StoredLogin & { isExpired: boolean }>({
    text: `DELETE FROM command_line_login WHERE code_hash = $1 RETURNING ${columns}, expires_at <= now() AS "isExpired"`,
    values: [codeHash],
  });
  return row;
}

/** Whether the person has not signed out since. */
export async function isLiveSession(
  database: Pick<Database, "queryInAccount">,
  { personId, sessionId }: Pick<Decision, "personId" | "sessionId">,
): Promise<boolean> {
  const rows = await database.queryInAccount(personId, {
    text: "SELECT FROM live_session WHERE account_id = entered.account::uuid AND id = $2",
    values: [sessionId],
  });
  return rows.length > 0;
}
