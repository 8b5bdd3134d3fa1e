import type { Database } from "../database/open-database.ts";
import type { VaultRef } from "../keys/vault-keys.ts";

const maxRows = 1000;

/** Soft-deleted vaults past their retention period, oldest first. */
export function listDueVaults(database: Pick<Database, "acrossAccounts">): Promise<readonly VaultRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<VaultRef>({
      text: 'SELECT account_id AS "accountId", id AS "vaultId" FROM vault WHERE purge_after <= now() ORDER BY purge_after LIMIT $1',
      values: [maxRows],
    }),
  );
}

export function listDueSecrets(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly (VaultRef & { readonly secretId: string })[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<VaultRef & { secretId: string }>({
      text: 'SELECT account_id AS "accountId", vault_id AS "vaultId", id AS "secretId" FROM secret WHERE purge_after <= now() ORDER BY purge_after LIMIT $1',
      values: [maxRows],
    }),
  );
}

/** Vaults with proposed changes that expired, those first that expired first. */
export function listVaultsWithExpiredChanges(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly VaultRef[]> {
  return database.acrossAccounts((transaction) =>
    transaction.query<VaultRef>({
      text: `SELECT account_id AS "accountId", vault_id AS "vaultId" FROM proposed_change WHERE state = 'pending' AND expires_at <= now() GROUP BY 1, 2 ORDER BY min(expires_at) LIMIT $1`,
      values: [maxRows],
    }),
  );
}

/** How long a revoked or expired token stays in the list of tokens. */
const endedTokens = "least(revoked_at, expires_at) < now() - interval '90 days'";

/** How long a decided change stays in the list of changes. */
const isLongDecided = "decided_at < now() - interval '90 days'";

/** Accounts with idempotency results and ended sessions older than a day, old tokens, old changes, or expired subject tokens. */
export async function listAccountsWithExpiredRows(
  database: Pick<Database, "acrossAccounts">,
): Promise<readonly string[]> {
  const rows = await database.acrossAccounts((transaction) =>
    transaction.query<{ account_id: string }>({
      text: `SELECT account_id FROM idempotent_answer WHERE created_at < now() - interval '24 hours' UNION SELECT account_id FROM session WHERE least(idle_until, absolute_until, ended_at) < now() - interval '1 day' UNION SELECT account_id FROM api_token WHERE ${endedTokens} UNION SELECT account_id FROM used_subject_token WHERE expires_at < now() UNION SELECT account_id FROM proposed_change WHERE ${isLongDecided} LIMIT $1`,
      values: [maxRows],
    }),
  );
  return rows.map(({ account_id }) => account_id);
}

export async function deleteExpiredRows(
  database: Pick<Database, "inAccount">,
  accountId: string,
): Promise<boolean> {
  await database.inAccount(accountId, async (transaction) => {
    await transaction.query({
      text: "DELETE FROM idempotent_answer WHERE account_id = $1 AND created_at < now() - interval '24 hours'",
      values: [accountId],
    });
    await transaction.query({
      text: "WITH gone AS (DELETE FROM session WHERE account_id = $1 AND least(idle_until, absolute_until, ended_at) < now() - interval '1 day' RETURNING session_hash) DELETE FROM session_route USING gone WHERE session_route.session_hash = gone.session_hash",
      values: [accountId],
    });
    await transaction.query({
      text: "DELETE FROM used_subject_token WHERE account_id = $1 AND expires_at < now()",
      values: [accountId],
    });
    await transaction.query({
      text: `DELETE FROM proposed_change WHERE account_id = $1 AND ${isLongDecided}`,
      values: [accountId],
    });
    await transaction.query({
      text: `WITH gone AS (DELETE FROM api_token WHERE account_id = $1 AND ${endedTokens} RETURNING id) DELETE FROM token_route USING gone WHERE token_route.account_id = $1 AND token_route.token_id = gone.id`,
      values: [accountId],
    });
  });
  return true;
}

/** Deletes sign-ins and logins of command lines that can no longer be finished. */
export async function deleteExpiredSignInAttempts(database: Pick<Database, "query">): Promise<void> {
  await database.query({ text: "DELETE FROM sign_in_attempt WHERE expires_at < now()" });
  await database.query({ text: "DELETE FROM command_line_login WHERE expires_at < now()" });
}
