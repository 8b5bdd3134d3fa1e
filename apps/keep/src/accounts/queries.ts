import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import type { VaultPlace } from "../keys/vault-keys.ts";
import type { AccountEntry, Person } from "./open-account.ts";

type Entry = Pick<AccountEntry, "accountId" | "identityId">;

export async function findIdentity(
  database: Pick<Database, "ask">,
  { issuer, subject }: Pick<Person, "issuer" | "subject">,
): Promise<Entry | undefined> {
  const [row] = await database.ask<{ account_id: string; identity_id: string }>({
    text: "SELECT account_id, identity_id FROM identity_route WHERE issuer = $1 AND subject = $2",
    values: [issuer, subject],
  });
  return row === undefined ? undefined : { accountId: row.account_id, identityId: row.identity_id };
}

/** False when this person is known already. */
export async function claimIdentity(
  transaction: Transaction,
  { issuer, subject }: Pick<Person, "issuer" | "subject">,
  { accountId, identityId }: Entry,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "INSERT INTO identity_route (issuer, subject, account_id, identity_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING account_id",
    values: [issuer, subject, accountId, identityId],
  });
  return rows.length === 1;
}

export async function insertAccount(
  transaction: Transaction,
  accountId: string,
  displayName: string,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO account (account_id, display_name) VALUES ($1, $2)",
    values: [accountId, displayName],
  });
}

export async function insertIdentity(
  transaction: Transaction,
  { provider, issuer, subject, login, email }: Person,
  { accountId, identityId }: Entry,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO identity (account_id, id, provider, issuer, subject, login, email) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    values: [accountId, identityId, provider, issuer, subject, login ?? null, email ?? null],
  });
}

export async function insertVault(
  transaction: Transaction,
  { accountId, vaultId }: VaultPlace,
  name: string,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO vault (account_id, id, name, kind) VALUES ($1, $2, $3, 'personal')",
    values: [accountId, vaultId, name],
  });
}
