import { FailureError } from "@hearth-and-keep/failures";
import type { AuditLog } from "../audit/audit-log.ts";
import { grantCovers } from "../authorization/grant.ts";
import { parseScope, type Scope, scopesCover } from "../authorization/scopes.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { type Failure, requestFailure } from "../failures.ts";
import { lockEpochIfActive } from "../keys/row-integrity/account-epoch.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { toGrant } from "../tokens/check-token.ts";
import { addToken } from "../tokens/create-token.ts";
import type { Token } from "../tokens/token-format.ts";
import { type RecordAttempt, recordAcceptance } from "./attempts.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { claimOf, findMismatches } from "./match-rule.ts";
import { isSignedBy, readPublicKeys } from "./public-keys.ts";
import { claimSubjectToken, listRulesOfIssuer, listTrustRules } from "./queries.ts";
import {
  accountOf,
  findClaimsProblem,
  identifyUse,
  parseSubjectToken,
  readHeader,
  type SigningKeyRef,
  type SubjectToken,
} from "./subject-token.ts";
import type { AudienceAccount, TrustRule } from "./trust-rule.ts";

export type ExchangeDependencies = {
  readonly database: Pick<Database, "inAccount" | "queryInAccount">;
  readonly audit: Pick<AuditLog, "record">;
  readonly serverKeys: Pick<ServerKeys, "rowMacs">;
  readonly issuerKeys: IssuerKeys;
  readonly publicUrl: URL;
  /** Records why a token was refused where the owner of the account sees it. */
  readonly recordRefusal: RecordAttempt;
};

export type ExchangeRequest = {
  readonly subjectToken: string;
  /** Undefined for all scopes of the rule. */
  readonly scopes: readonly Scope[] | undefined;
  readonly address: string;
};

export type IssuedExchange = {
  readonly value: Token;
  readonly scopes: readonly Scope[];
  readonly lifetimeSeconds: number;
};

/** Why a token is refused. The client does not learn it; the owner of the account does. */
type Refusal = { readonly reason: string; readonly isVerified: boolean };

/**
 * Exchanges a workload's token for one of Keep. Throws "exchange-refused" for every token that is not accepted; all
 * refusals are alike, also those for accounts that do not exist.
 */
export async function exchangeToken(
  request: ExchangeRequest,
  dependencies: ExchangeDependencies,
): Promise<IssuedExchange> {
  const token = parseSubjectToken(request.subjectToken);
  const account = token === undefined ? undefined : accountOf(token, dependencies.publicUrl);
  if (token === undefined || account === undefined) throw refused();
  const verified = await verify(token, account, dependencies);
  const result =
    "reason" in verified
      ? verified
      : await issue({ token, account, request, keySources: verified.keySources }, dependencies);
  if (!("reason" in result)) return result;
  await dependencies.recordRefusal({ account, token, address: request.address, ...result });
  if (result.reason === scopeExceeded) {
    const description = "The scope is not within that of the trust rule that matches the token";
    throw requestFailure({ kind: "exchange-refused", error: "invalid_scope", description });
  }
  throw refused();
}

const scopeExceeded = "scope-exceeded";

function refused(): Error {
  const description =
    "The subject token was not accepted. The owner of the account that its audience names finds the reason in the account's audit log and among the attempts of its trust rules";
  return requestFailure({ kind: "exchange-refused", error: "invalid_grant", description });
}

/** The issuer's published keys, or uploaded ones as JSON. */
type KeySource = string | null;

function unverified(reason: string): Refusal {
  return { reason, isVerified: false };
}

/** Returns the sources of keys that verify the token, of those that the account's rules name. */
async function verify(
  token: SubjectToken,
  named: AudienceAccount,
  { database, serverKeys: { rowMacs }, issuerKeys }: ExchangeDependencies,
): Promise<{ readonly keySources: ReadonlySet<KeySource> } | Refusal> {
  const keyRef = readHeader(token);
  if (typeof keyRef === "string") return unverified(keyRef);
  const issuer = claimOf(token.claims, "iss");
  if (typeof issuer !== "string" || issuer.length > 512) return unverified("claims-incomplete");
  // Others cannot be in a rule, and PostgreSQL does not take all of them.
  const isPossible = /^[!-~]+$/u.test(issuer);
  const rules = isPossible ? await listRulesOfIssuer(database, named, issuer) : [];
  if (rules.length === 0) return unverified("no-rule-for-issuer");
  const genuine = rules.filter(
    ({ mac, account: { mac: accountMac, ...account }, ...trustRule }) =>
      rowMacs.isGenuine({ account }, accountMac) &&
      rowMacs.isGenuine({ trustRule, epoch: account.epoch }, mac),
  );
  if (genuine.length === 0) return unverified("rule-not-genuine");
  const keySources = new Set<KeySource>();
  const failures: string[] = [];
  for (const source of new Set(genuine.map(({ jwks }) => jwks))) {
    const failure = await verifyWith(source, { token, keyRef, issuer }, issuerKeys);
    if (failure === undefined) keySources.add(source);
    else failures.push(failure);
  }
  return keySources.size > 0 ? { keySources } : unverified(failures[0] ?? "signature-wrong");
}

type Verification = {
  readonly token: SubjectToken;
  readonly keyRef: SigningKeyRef;
  readonly issuer: string;
};

/** Undefined when a key of the source signed the token. */
async function verifyWith(
  source: KeySource,
  { token, keyRef, issuer }: Verification,
  issuerKeys: IssuerKeys,
): Promise<string | undefined> {
  const keys =
    source === null ? await issuerKeys.find(issuer, keyRef.keyId) : readPublicKeys(JSON.parse(source));
  if (keys === undefined) return "issuer-unavailable";
  if (!keys.some(({ kid }) => kid === keyRef.keyId)) return "key-unknown";
  return (await isSignedBy(keys, token, keyRef)) ? undefined : "signature-wrong";
}

type VerifiedExchange = {
  readonly token: SubjectToken;
  readonly account: AudienceAccount;
  readonly request: ExchangeRequest;
  readonly keySources: ReadonlySet<KeySource>;
};

async function issue(
  exchange: VerifiedExchange,
  dependencies: ExchangeDependencies,
): Promise<IssuedExchange | Refusal> {
  const { token, account } = exchange;
  const problem = findClaimsProblem(token, new Date());
  if (problem !== undefined) return { reason: problem, isVerified: true };
  try {
    return await dependencies.database.inAccount(account.accountId, (transaction) =>
      issueInTransaction(transaction, exchange, dependencies),
    );
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { reason, isVerified: true };
  }
}

/** Thrown to roll the transaction back. */
class RefusedExchange extends Error {
  override readonly name = "RefusedExchange";
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof RefusedExchange) return error.reason;
  if (!(error instanceof FailureError)) return undefined;
  // Keep throws FailureError only with its own failures.
  const { kind } = error.failure as Failure;
  if (kind === "quota-exceeded") return "too-many-tokens";
  // A vault of the rule was deleted.
  return kind === "request-invalid" ? "vault-missing" : undefined;
}

/** Matches again what the rules are now: under the lock of the account, no rule can end. */
async function issueInTransaction(
  transaction: Transaction,
  { token, account, request, keySources }: VerifiedExchange,
  { audit, serverKeys }: ExchangeDependencies,
): Promise<IssuedExchange> {
  const { accountId } = account;
  const { rowMacs } = serverKeys;
  const epoch = await lockEpochIfActive(transaction, accountId, rowMacs);
  if (epoch === undefined) throw new RefusedExchange("account-not-active");
  const rules = await listTrustRules(transaction, accountId);
  const matching = rules.filter(
    (rule) =>
      keySources.has(rule.jwks) &&
      findMismatches(rule, token.claims).length === 0 &&
      rowMacs.isGenuine({ trustRule: rule, epoch }, rule.mac),
  );
  if (matching.length === 0) throw new RefusedExchange("no-rule-matches");
  const rule = matching.find(({ scopes }) => coversScopes(scopes, request.scopes));
  if (rule === undefined) throw new RefusedExchange(scopeExceeded);
  if (!(await claimSubjectToken(transaction, accountId, identifyUse(token))))
    throw new RefusedExchange("already-exchanged");
  const { issuer, subject } = identityOf(token);
  const spec = toSpec(rule, { subject, scopes: request.scopes });
  if (!grantCovers(toGrant({ ...rule, addresses: null, expiresAt: null }), toGrant(spec)))
    throw requestFailure({ kind: "grant-exceeded" });
  const by = { kind: "trust-rule", id: rule.id, address: request.address } as const;
  const creation = {
    accountId,
    parentId: rule.id,
    ownerId: null,
    spec,
    by,
    epoch,
    subjectToken: { issuer, subject },
  };
  const { id, value } = await addToken(transaction, creation, { audit, serverKeys });
  await recordAcceptance(transaction, { account, token, rules, ruleId: rule.id, tokenId: id });
  return { value, scopes: spec.scopes, lifetimeSeconds: rule.lifetimeSeconds };
}

function coversScopes(ofRule: readonly string[], wanted: readonly Scope[] | undefined): boolean {
  return wanted === undefined || scopesCover(parseScopes(ofRule), wanted);
}

function parseScopes(texts: readonly string[]): readonly Scope[] {
  return texts.flatMap((text) => parseScope(text) ?? []);
}

const maxNameCharacters = 255;

function toSpec(
  rule: TrustRule,
  { subject, scopes }: { readonly subject: string; readonly scopes: readonly Scope[] | undefined },
) {
  const name = `${rule.name}: ${subject}`.slice(0, maxNameCharacters);
  return {
    // Does not split a surrogate pair.
    name: name.replace(/[\uD800-\uDBFF]$/u, "").trimEnd(),
    scopes: scopes ?? parseScopes(rule.scopes),
    vaultIds: rule.vaultIds,
    paths: rule.paths,
    addresses: null,
    expiresAt: new Date(Date.now() + rule.lifetimeSeconds * 1000),
  };
}

/** Of a verified token, in which both are strings. */
function identityOf({ claims }: SubjectToken): { readonly issuer: string; readonly subject: string } {
  return { issuer: String(claimOf(claims, "iss")), subject: String(claimOf(claims, "sub")) };
}
