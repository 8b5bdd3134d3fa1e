import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { AccountRow as AuthenticatedAccount } from "../keys/row-integrity/row-macs.ts";
import type { StoredAdmission } from "./identity-mac.ts";
import type { OpenedAccount, Person } from "./person.ts";

type IdentityRef = Pick<OpenedAccount, "accountId" | "identityId">;

/** Whose identity this is, according to its route. `startSession` verifies it by the MAC of the identity itself. */
export async function findIdentity(
  database: Pick<Database, "query">,
  { issuer, subject }: Pick<Person, "issuer" | "subject">,
): Promise<IdentityRef | undefined> {
  const [row] = await database.query<{ account_id: string; identity_id: string }>({
    text: "SELECT account_id, identity_id FROM identity_route WHERE issuer = $1 AND subject = $2",
    values: [issuer, subject],
  });
  return row === undefined ? undefined : { accountId: row.account_id, identityId: row.identity_id };
}

/** False when the identity already belongs to an account. */
export async function claimIdentity(
  transaction: Transaction,
  { issuer, subject }: Pick<Person, "issuer" | "subject">,
  { accountId, identityId }: IdentityRef,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "INSERT INTO identity_route (issuer, subject, account_id, identity_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING account_id",
    values: [issuer, subject, accountId, identityId],
  });
  return rows.length === 1;
}

export async function insertAccount(
  transaction: Transaction,
  { accountId, kind }: Pick<AuthenticatedAccount, "accountId" | "kind">,
  { displayName, mac }: { readonly displayName: string; readonly mac: Buffer },
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO account (account_id, kind, display_name, mac) VALUES ($1, $2, $3, $4)",
    values: [accountId, kind, displayName, mac],
  });
}

export async function insertIdentity(
  transaction: Transaction,
  { provider, issuer, subject, login, email }: Person,
  { accountId, identityId, mac }: IdentityRef & { readonly mac: Buffer },
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO identity (account_id, id, provider, issuer, subject, login, email, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [accountId, identityId, provider, issuer, subject, login ?? null, email ?? null, mac],
  });
}

export type IdentityState = {
  readonly mac: Buffer | null;
  readonly admission: StoredAdmission;
  /** The database's time to the millisecond. */
  readonly now: Date;
};

/** What the identity's MAC covers besides the person; undefined when the account has no such identity. */
export async function readIdentityState(
  transaction: Transaction,
  { accountId, identityId }: IdentityRef,
): Promise<IdentityState | undefined> {
  const [row] = await transaction.query<StoredAdmission & Pick<IdentityState, "mac" | "now">>({
    text: 'SELECT mac, admitted_by AS "admittedBy", confirmed_at AS "confirmedAt", now() AS now FROM identity WHERE account_id = $1 AND id = $2',
    values: [accountId, identityId],
  });
  if (row === undefined) return undefined;
  const { mac, now, ...admission } = row;
  return { mac, now, admission };
}

export async function updateIdentityAdmission(
  transaction: Transaction,
  { accountId, identityId, mac, admission }: IdentityRef & Pick<IdentityState, "mac" | "admission">,
): Promise<void> {
  await transaction.query({
    text: "UPDATE identity SET admitted_by = $3, confirmed_at = $4, mac = $5 WHERE account_id = $1 AND id = $2",
    values: [accountId, identityId, admission.admittedBy, admission.confirmedAt, mac],
  });
}

/** Updates the display fields, which may have changed at the provider. */
export async function refreshIdentity(
  transaction: Transaction,
  { login, email }: Pick<Person, "login" | "email">,
  { accountId, identityId }: IdentityRef,
): Promise<void> {
  await transaction.query({
    text: "UPDATE identity SET login = $3, email = $4, last_sign_in_at = now() WHERE account_id = $1 AND id = $2",
    values: [accountId, identityId, login ?? null, email ?? null],
  });
}

export type AccountRow = {
  readonly display_name: string;
  readonly created_at: Date;
};

export async function readAccount(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<AccountRow | undefined> {
  const [row] = await database.queryInAccount<AccountRow>(accountId, {
    text: "SELECT display_name, created_at FROM live_account WHERE account_id = entered.account::uuid",
  });
  return row;
}

export type Holdings = { readonly vaults: number; readonly secrets: number; readonly tokens: number };

export async function countHoldings(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<Holdings> {
  const [row] = await database.queryInAccount<Holdings>(accountId, {
    text: "SELECT (SELECT count(*)::float8 FROM live_vault WHERE account_id = entered.account::uuid) AS vaults, (SELECT count(*)::float8 FROM live_secret AS secret JOIN live_vault AS vault ON vault.account_id = secret.account_id AND vault.id = secret.vault_id WHERE secret.account_id = entered.account::uuid) AS secrets, (SELECT count(*)::float8 FROM live_token WHERE account_id = entered.account::uuid) AS tokens",
  });
  return row ?? { vaults: 0, secrets: 0, tokens: 0 };
}

export type IdentityRow = {
  readonly id: string;
  readonly provider: Person["provider"];
  readonly issuer: string;
  readonly login: string | null;
  readonly email: string | null;
  readonly created_at: Date;
  readonly last_sign_in_at: Date;
};

export async function listIdentities(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly IdentityRow[]> {
  return database.queryInAccount<IdentityRow>(accountId, {
    text: "SELECT id, provider, issuer, login, email, created_at, last_sign_in_at FROM identity WHERE account_id = entered.account::uuid ORDER BY id LIMIT 100",
  });
}

export async function deleteIdentity(
  transaction: Transaction,
  { accountId, identityId }: IdentityRef,
): Promise<void> {
  await transaction.query({
    text: "DELETE FROM identity_route AS route USING identity WHERE identity.account_id = $1 AND identity.id = $2 AND route.issuer = identity.issuer AND route.subject = identity.subject AND route.account_id = $1",
    values: [accountId, identityId],
  });
  await transaction.query({
    text: "DELETE FROM identity WHERE account_id = $1 AND id = $2",
    values: [accountId, identityId],
  });
}

type LockedAccount = { readonly display_name: string; readonly status: string };

/** Locks the account against concurrent changes; undefined when it is deleted. */
export async function lockAccount(
  transaction: Transaction,
  accountId: string,
): Promise<LockedAccount | undefined> {
  const [row] = await transaction.query<LockedAccount>({
    text: "SELECT display_name, status FROM account WHERE account_id = $1 AND status <> 'deleted' FOR UPDATE",
    values: [accountId],
  });
  if (row === undefined) return undefined;
  // Waits for changes in progress; in the same lock order as those, to avoid deadlocks.
  await transaction.query({
    text: "SELECT FROM vault WHERE account_id = $1 ORDER BY id FOR UPDATE",
    values: [accountId],
  });
  return row;
}

/** The last condition, true for every row, makes the indexes of whole vaults apply. */
const inAccountVault =
  "account_id = $1 AND vault_id IN (SELECT id FROM vault WHERE account_id = $1) AND key_version > 0";

/**
 * In foreign-key order. Without the wrapped data keys, no copy of a value can be decrypted. Token rows stay, revoked
 * and stripped of their details.
 */
const deletionStatements = [
  "DELETE FROM proposed_change WHERE account_id = $1",
  `DELETE FROM secret_version WHERE ${inAccountVault}`,
  `DELETE FROM secret WHERE ${inAccountVault}`,
  "DELETE FROM folder WHERE account_id = $1",
  "DELETE FROM operation WHERE account_id = $1",
  "DELETE FROM idempotent_answer WHERE account_id = $1",
  "DELETE FROM vault_key WHERE account_id = $1",
  "DELETE FROM vault WHERE account_id = $1",
  "DELETE FROM trust_rule WHERE account_id = $1",
  "DELETE FROM used_subject_token WHERE account_id = $1",
  "DELETE FROM exchange_attempt WHERE account_id = $1",
  "DELETE FROM token_route WHERE (account_id, token_id) IN (SELECT account_id, id FROM api_token WHERE account_id = $1)",
  "UPDATE api_token SET name = 'deleted', addresses = NULL, paths = NULL, last_used_address = NULL, revoked_at = coalesce(revoked_at, now()), revoke_reason = coalesce(revoke_reason, 'account-deleted') WHERE account_id = $1",
  "DELETE FROM session_route WHERE session_hash IN (SELECT session_hash FROM session WHERE account_id = $1)",
  "DELETE FROM session WHERE account_id = $1",
  "DELETE FROM sign_in_attempt WHERE account_id = $1",
  "DELETE FROM command_line_login WHERE account_id = $1 OR person_id = $1",
  "DELETE FROM identity_route AS route USING identity WHERE identity.account_id = $1 AND route.issuer = identity.issuer AND route.subject = identity.subject AND route.account_id = $1",
  "DELETE FROM identity WHERE account_id = $1",
  "DELETE FROM invitation WHERE account_id = $1",
  "DELETE FROM vault_access WHERE account_id = $1",
  "DELETE FROM vault_route WHERE account_id = $1",
  "DELETE FROM team WHERE account_id = $1",
  "DELETE FROM member_route WHERE account_id = $1",
  "DELETE FROM member WHERE account_id = $1",
  "UPDATE account SET status = 'deleted', is_operator = false, display_name = 'deleted', deleted_at = now(), epoch = epoch + 1, mac = NULL WHERE account_id = $1",
] as const;

/** Whether changes in one of its vaults, live or deleted, need the approval of a second person. */
export async function hasProtectedVaults(transaction: Transaction, accountId: string): Promise<boolean> {
  const rows = await transaction.query({
    text: "SELECT FROM vault WHERE account_id = $1 AND cardinality(protected_paths) > 0 LIMIT 1",
    values: [accountId],
  });
  return rows.length === 1;
}

export async function deleteAccountData(transaction: Transaction, accountId: string): Promise<void> {
  for (const text of deletionStatements) await transaction.query({ text, values: [accountId] });
}
