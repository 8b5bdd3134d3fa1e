import type { AuditLog } from "../audit/audit-log.ts";
import { createRecordLimit } from "../audit/limit-records.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { generateId } from "../generate-id.ts";
import { type Claims, claimOf, findMismatches, type Mismatch } from "./match-rule.ts";
import {
  type AttemptClaim,
  type ExchangeAttempt,
  insertAttempt,
  listAttempts,
  listClaims,
  listNamedClaims,
} from "./queries.ts";
import type { SubjectToken } from "./subject-token.ts";
import type { AudienceAccount, TokenCriteria, TrustRule } from "./trust-rule.ts";

/** Claims that rules usually name. Others are kept if a rule of the account names them. */
const usualClaims = [
  "sub",
  "repository",
  "repository_id",
  "repository_owner",
  "repository_owner_id",
  "repository_visibility",
  "environment",
  "ref",
  "ref_type",
  "ref_protected",
  "event_name",
  "workflow_ref",
  "job_workflow_ref",
  "runner_environment",
  "namespace_id",
  "namespace_path",
  "project_id",
  "project_path",
  "environment_protected",
  "pipeline_source",
  "azp",
  "email",
];
const maxClaims = 64;
const maxCharacters = 512;
const claimName = /^[A-Za-z][A-Za-z0-9_./:-]{0,127}$/u;

type RefusedAttempt = {
  readonly account: AudienceAccount;
  readonly token: SubjectToken;
  readonly address: string;
  readonly isVerified: boolean;
  readonly reason: string;
};

export type RecordAttempt = (attempt: RefusedAttempt) => Promise<void>;

/**
 * Records refused tokens of existing accounts, at most 100 per minute and account: anybody can present a token that names
 * an account.
 */
export function createRefusalRecorder(
  database: Pick<Database, "inAccount">,
  audit: Pick<AuditLog, "record">,
): RecordAttempt {
  const mayRecord = createRecordLimit();
  return async ({ account, token, address, isVerified, reason }) => {
    const { accountId } = account;
    if (!mayRecord(accountId)) return;
    await database.inAccount(accountId, async (transaction) => {
      const attempt = describeAttempt(token, await listNamedClaims(transaction, accountId));
      const refusal = { ...attempt, isVerified, reason, ruleId: null, tokenId: null };
      if (!(await insertAttempt(transaction, account, refusal))) return;
      const { issuer, subject } = attempt;
      const event = {
        type: "token-exchange-refused",
        issuer,
        subject,
        verified: isVerified,
        reason,
        address,
      } as const;
      audit.record(transaction, { accountId, by: "server", event });
    });
  };
}

type AcceptedAttempt = {
  readonly account: AudienceAccount;
  readonly token: SubjectToken;
  /** Of the account; they may name claims that are kept. */
  readonly rules: readonly Pick<TrustRule, "conditions">[];
  readonly ruleId: string;
  readonly tokenId: string;
};

export async function recordAcceptance(
  transaction: Transaction,
  { account, token, rules, ruleId, tokenId }: AcceptedAttempt,
): Promise<void> {
  const attempt = describeAttempt(token, listClaims(rules));
  await insertAttempt(transaction, account, {
    ...attempt,
    isVerified: true,
    reason: null,
    ruleId,
    tokenId,
  });
}

function describeAttempt(
  { claims }: SubjectToken,
  named: readonly string[],
): Pick<ExchangeAttempt, "id" | "issuer" | "subject" | "claims"> {
  return {
    id: generateId(),
    issuer: toLine(claimOf(claims, "iss")),
    subject: toLine(claimOf(claims, "sub")),
    claims: [...new Set([...usualClaims, ...named])]
      .flatMap((name) => keepClaim(claims, name))
      .slice(0, maxClaims),
  };
}

/** Strings as they are, so that conditions can be compared with them; anything else matches no condition. */
function keepClaim(claims: Claims, name: string): readonly AttemptClaim[] {
  const value = claimOf(claims, name);
  const isKept =
    claimName.test(name) &&
    typeof value === "string" &&
    value.length <= maxCharacters &&
    !/\p{C}/u.test(value);
  return isKept ? [{ claim: name, value }] : [];
}

/** An unverified token can contain anything. */
function toLine(value: unknown): string {
  if (typeof value !== "string") return "";
  return value.slice(0, maxCharacters).toWellFormed().replaceAll(/\p{C}/gu, " ");
}

export type ComparedAttempt = ExchangeAttempt & { readonly mismatches: readonly Mismatch[] };

/** The last tokens that were presented for the account, compared with a rule. */
export async function compareAttempts(
  database: Pick<Database, "queryInAccount">,
  accountId: string,
  criteria: TokenCriteria,
): Promise<readonly ComparedAttempt[]> {
  const attempts = await listAttempts(database, accountId);
  return attempts.map((attempt) => {
    const claims = attempt.claims.map(({ claim, value }) => [claim, value] as const);
    const presented = { ...Object.fromEntries(claims), iss: attempt.issuer };
    return { ...attempt, mismatches: findMismatches(criteria, presented) };
  });
}
