import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import {
  type JoinedAccount,
  joinedAccountColumns,
  type Signed,
  splitAccount,
  trustRuleColumns,
} from "../keys/row-integrity/queries.ts";
import type { AccountRow } from "../keys/row-integrity/row-macs.ts";
import type { TokenUse } from "./subject-token.ts";
import type { AudienceAccount, ClaimCondition, TrustRule } from "./trust-rule.ts";

const ruleColumns = `${trustRuleColumns}, name, created_at AS "createdAt", created_by AS "createdBy", changed_at AS "changedAt"`;

/** Oldest first. */
export function listTrustRules(transaction: Transaction, accountId: string): Promise<readonly TrustRule[]> {
  return transaction.query<TrustRule>({
    text: `SELECT ${ruleColumns} FROM trust_rule WHERE account_id = $1 ORDER BY id LIMIT 100`,
    values: [accountId],
  });
}

export async function findTrustRule(
  transaction: Transaction,
  { accountId, id }: Pick<TrustRule, "accountId" | "id">,
): Promise<TrustRule | undefined> {
  const [rule] = await transaction.query<TrustRule>({
    text: `SELECT ${ruleColumns} FROM trust_rule WHERE account_id = $1 AND id = $2`,
    values: [accountId, id],
  });
  return rule;
}

type RuleOfActiveAccount = TrustRule & { readonly account: Signed<AccountRow> };

/** The rules of an active account of this kind for an issuer, with the account, whose epoch their MACs contain. */
export async function listRulesOfIssuer(
  database: Pick<Database, "queryInAccount">,
  { accountId, kind }: AudienceAccount,
  issuer: string,
): Promise<readonly RuleOfActiveAccount[]> {
  type Row = TrustRule & JoinedAccount;
  const rows = await database.queryInAccount<Row>(accountId, {
    connection: "system",
    text: `SELECT rule.*, ${joinedAccountColumns} FROM account JOIN LATERAL (SELECT ${ruleColumns} FROM trust_rule WHERE trust_rule.account_id = entered.account::uuid AND issuer = $2) AS rule ON true WHERE account.account_id = entered.account::uuid AND account.status = 'active' AND account.kind = $3 ORDER BY rule.id LIMIT 100`,
    values: [issuer, kind],
  });
  return rows.map((row) => {
    const { account, rest } = splitAccount<Row>(accountId, row);
    return { ...rest, account };
  });
}

export async function insertTrustRule(
  transaction: Transaction,
  rule: Omit<TrustRule, "createdAt" | "changedAt">,
): Promise<void> {
  await transaction.query({
    text: "INSERT INTO trust_rule (id, account_id, name, provider, issuer, conditions, jwks, scopes, vault_ids, paths, lifetime_seconds, mac, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    values: [...storedValues(rule), rule.createdBy],
  });
}

/** What a rule is inserted and updated with, in this order. */
function storedValues(rule: Omit<TrustRule, "createdAt" | "createdBy" | "changedAt">): unknown[] {
  return [
    rule.id,
    rule.accountId,
    rule.name,
    rule.provider,
    rule.issuer,
    JSON.stringify(rule.conditions),
    rule.jwks,
    rule.scopes,
    rule.vaultIds,
    rule.paths,
    rule.lifetimeSeconds,
    rule.mac,
  ];
}

/** `by` is who changes it, as `formatActor` writes it. */
export async function updateTrustRule(transaction: Transaction, rule: TrustRule, by: string): Promise<void> {
  await transaction.query({
    // The last 64 who have changed it, each once.
    text: "UPDATE trust_rule SET name = $3, provider = $4, issuer = $5, conditions = $6, jwks = $7, scopes = $8, vault_ids = $9, paths = $10, lifetime_seconds = $11, mac = $12, changed_at = now(), changed_by = (array_remove(changed_by, $13) || $13::text)[greatest(1, cardinality(array_remove(changed_by, $13)) - 62):] WHERE id = $1 AND account_id = $2",
    values: [...storedValues(rule), by],
  });
}

export async function deleteTrustRule(
  transaction: Transaction,
  { accountId, id }: Pick<TrustRule, "accountId" | "id">,
): Promise<void> {
  await transaction.query({
    text: "DELETE FROM trust_rule WHERE id = $1 AND account_id = $2",
    values: [id, accountId],
  });
}

/** False when the token was exchanged before, on any node. */
export async function claimSubjectToken(
  transaction: Transaction,
  accountId: string,
  { hash, until }: TokenUse,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "INSERT INTO used_subject_token (token_hash, account_id, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING account_id",
    values: [hash, accountId, until],
  });
  return rows.length === 1;
}

export type AttemptClaim = { readonly claim: string; readonly value: string };

export type ExchangeAttempt = {
  readonly id: string;
  readonly at: Date;
  readonly issuer: string;
  readonly subject: string;
  readonly isVerified: boolean;
  readonly reason: string | null;
  readonly ruleId: string | null;
  readonly tokenId: string | null;
  readonly claims: readonly AttemptClaim[];
};

const maxAttempts = 50;

/** Keeps the newest of each kind, so that forged tokens do not displace verified ones. False without an active account of this kind. */
export async function insertAttempt(
  transaction: Transaction,
  { accountId, kind }: AudienceAccount,
  attempt: Omit<ExchangeAttempt, "at">,
): Promise<boolean> {
  const rows = await transaction.query({
    text: "INSERT INTO exchange_attempt (id, account_id, issuer, subject, is_verified, reason, rule_id, token_id, claims) SELECT $2, account_id, $3, $4, $5, $6, $7, $8, $9 FROM account WHERE account_id = $1 AND kind = $10 AND status = 'active' RETURNING id",
    values: [
      accountId,
      attempt.id,
      attempt.issuer,
      attempt.subject,
      attempt.isVerified,
      attempt.reason,
      attempt.ruleId,
      attempt.tokenId,
      JSON.stringify(attempt.claims),
      kind,
    ],
  });
  await transaction.query({
    text: "DELETE FROM exchange_attempt WHERE account_id = $1 AND is_verified = $2 AND id IN (SELECT id FROM exchange_attempt WHERE account_id = $1 AND is_verified = $2 ORDER BY id DESC OFFSET $3)",
    values: [accountId, attempt.isVerified, maxAttempts],
  });
  return rows.length === 1;
}

const attemptColumns = `id, at, issuer, subject, is_verified AS "isVerified", reason, rule_id AS "ruleId", token_id AS "tokenId", claims`;

/** Newest first. Concurrent insertions may have left a few more of a kind than are listed. */
export function listAttempts(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
): Promise<readonly ExchangeAttempt[]> {
  return database.queryInAccount<ExchangeAttempt>(accountId, {
    text: `SELECT attempt.* FROM (${selectNewest("is_verified")} UNION ALL ${selectNewest("NOT is_verified")}) AS attempt ORDER BY id DESC`,
  });
}

function selectNewest(condition: string): string {
  return `(SELECT ${attemptColumns} FROM exchange_attempt WHERE account_id = entered.account::uuid AND ${condition} ORDER BY id DESC LIMIT ${maxAttempts})`;
}

/** Claims that the account's rules name. */
export async function listNamedClaims(
  transaction: Transaction,
  accountId: string,
): Promise<readonly string[]> {
  const rules = await transaction.query<{ conditions: readonly ClaimCondition[] }>({
    text: "SELECT conditions FROM trust_rule WHERE account_id = $1 LIMIT 100",
    values: [accountId],
  });
  return listClaims(rules);
}

export function listClaims(rules: readonly Pick<TrustRule, "conditions">[]): readonly string[] {
  return rules.flatMap(({ conditions }) => conditions.map(({ claim }) => claim));
}
