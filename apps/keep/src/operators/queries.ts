import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";

type AccountIdentity = {
  readonly provider: "code-hosting" | "general";
  readonly issuer: string;
  readonly subject: string;
  readonly login: string | null;
  readonly email: string | null;
  /** From JSON, with the time zone. */
  readonly last_sign_in_at: string;
};

/** An account and how its people sign in, as stored. */
export type ManagedAccount = {
  readonly id: string;
  readonly display_name: string;
  readonly kind: "person" | "organisation";
  readonly status: "active" | "disabled" | "paused";
  readonly is_operator: boolean;
  readonly created_at: Date;
  readonly identities: readonly AccountIdentity[];
};

export type AccountPage = {
  readonly after: string | null;
  readonly status: ManagedAccount["status"] | null;
  readonly limit: number;
};

const accountColumns = `account_id AS id, display_name, kind, status, is_operator, created_at,
  (SELECT coalesce(json_agg(json_build_object('provider', provider, 'issuer', issuer, 'subject', subject, 'login', login, 'email', email, 'last_sign_in_at', last_sign_in_at) ORDER BY listed.id), '[]'::json) FROM (SELECT id, provider, issuer, subject, login, email, last_sign_in_at FROM identity WHERE identity.account_id = account.account_id ORDER BY id LIMIT 100) AS listed) AS identities`;

/** Accounts that are not deleted, oldest first. */
export function listAccounts(
  database: Pick<Database, "acrossAccounts">,
  { after, status, limit }: AccountPage,
): Promise<readonly ManagedAccount[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<ManagedAccount>({
      text: `SELECT ${accountColumns} FROM account WHERE status <> 'deleted' AND ($1::uuid IS NULL OR account_id > $1) AND ($2::text IS NULL OR status = $2) ORDER BY account_id LIMIT $3`,
      values: [after, status, limit],
    }),
  );
}

export async function findManagedAccount(
  database: Pick<Database, "acrossAccounts">,
  accountId: string,
): Promise<ManagedAccount | undefined> {
  const [account] = await database.acrossAccounts((transaction) =>
    transaction.query<ManagedAccount>({
      text: `SELECT ${accountColumns} FROM account WHERE status <> 'deleted' AND account_id = $1`,
      values: [accountId],
    }),
  );
  return account;
}

/** As stored: a flag that was set in the database only keeps a code from being printed. */
export async function hasOperator(database: Pick<Database, "acrossAccounts">): Promise<boolean> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query({ text: "SELECT account_id FROM account WHERE is_operator LIMIT 1" }),
  );
  return rows.length > 0;
}

export async function insertOperatorCode(
  database: Pick<Database, "query">,
  { codeHash, expiresAt }: { readonly codeHash: Buffer; readonly expiresAt: Date },
): Promise<void> {
  await database.query({ text: "DELETE FROM operator_code WHERE expires_at < now()" });
  await database.query({
    text: "INSERT INTO operator_code (code_hash, expires_at) VALUES ($1, $2)",
    values: [codeHash, expiresAt],
  });
}

type OperatorCodeRow = { readonly codeHash: Buffer; readonly expiresAt: Date };

/** The most codes that are compared; each start without an operator adds one. */
const maxCodes = 100;

/** Locks the codes, so that of concurrent requests one uses them; the newest first. */
export async function lockOperatorCodes(transaction: Transaction): Promise<readonly OperatorCodeRow[]> {
  await transaction.query({ text: "SELECT pg_advisory_xact_lock(hashtext('keep_operator_code'))" });
  return transaction.query<OperatorCodeRow>({
    text: `SELECT code_hash AS "codeHash", expires_at AS "expiresAt" FROM operator_code WHERE expires_at > now() ORDER BY expires_at DESC LIMIT $1`,
    values: [maxCodes],
  });
}

export async function deleteOperatorCodes(transaction: Transaction): Promise<void> {
  await transaction.query({ text: "DELETE FROM operator_code" });
}
