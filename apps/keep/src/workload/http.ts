import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import {
  accessTokenType,
  type ExchangeAttempts,
  type ExchangedToken,
  type NewTrustRule,
  type newTrustRule,
  type TrustRule as TrustRuleBody,
  type TrustRuleChanges,
  type tokenExchange,
  type trustRuleChanges,
} from "@hearth-and-keep/vault-contract";
import { readId, readIdempotencyKey } from "../access/read-change.ts";
import type { Actor } from "../authorization/actor.ts";
import { parseScope, type Scope } from "../authorization/scopes.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { BodyRequest, KeepRequest } from "../route-row.ts";
import { type ComparedAttempt, compareAttempts } from "./attempts.ts";
import { exchangeToken } from "./exchange-token.ts";
import { assertSafe, changeRule, createRule, deleteRule, getRule, type RuleSpec } from "./manage-rules.ts";
import { listTrustRules } from "./queries.ts";
import { type AudienceAccount, audienceOf, type TrustRule } from "./trust-rule.ts";

const defaultLifetimeSeconds = 900;

export async function handleListTrustRules(
  { actor }: KeepRequest,
  { database, signIn: { publicUrl } }: KeepDependencies,
): Promise<HttpResponse> {
  const { accountId } = actor;
  const rules = await database.inAccount(accountId, (transaction) => listTrustRules(transaction, accountId));
  const audience = audienceOf(publicUrl, accountOf(actor));
  return jsonResponse({ items: rules.map((rule) => describeRule(rule, audience)), audience });
}

export async function handleCreateTrustRule(
  request: BodyRequest<typeof newTrustRule>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const spec = readSpec(request.body);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const rule = await createRule(request.actor, { spec, idempotencyKey }, dependencies);
  return jsonResponse(describeRule(rule, audienceFor(request, dependencies)), 201);
}

export async function handleGetTrustRule(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { actor, parameters } = request;
  const rule = await getRule(dependencies.database, actor.accountId, readId(parameters["rule"]));
  return jsonResponse(describeRule(rule, audienceFor(request, dependencies)));
}

export async function handleUpdateTrustRule(
  request: BodyRequest<typeof trustRuleChanges>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const ruleId = readId(request.parameters["rule"]);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  const change = { ruleId, changes: readChanges(request.body), idempotencyKey };
  const rule = await changeRule(request.actor, change, dependencies);
  return jsonResponse(describeRule(rule, audienceFor(request, dependencies)));
}

export async function handleDeleteTrustRule(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const ruleId = readId(request.parameters["rule"]);
  const idempotencyKey = readIdempotencyKey(request, dependencies.serverKeys);
  await deleteRule(request.actor, { ruleId, idempotencyKey }, dependencies);
  return { status: 204 };
}

export async function handleListAttempts(
  { actor: { accountId }, parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const rule = await getRule(database, accountId, readId(parameters["rule"]));
  return jsonResponse(describeAttempts(await compareAttempts(database, accountId, rule)));
}

export async function handlePreviewTrustRule(
  { actor: { accountId }, body }: BodyRequest<typeof newTrustRule>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const spec = readSpec(body);
  assertSafe(spec);
  return jsonResponse(describeAttempts(await compareAttempts(database, accountId, spec)));
}

export async function handleExchangeToken(
  { body, clientAddress }: BodyRequest<typeof tokenExchange>,
  { signIn, ...dependencies }: KeepDependencies,
): Promise<HttpResponse> {
  assertSupported(body);
  const scopes = body.scope === undefined ? undefined : readScopes(body.scope);
  const request = { subjectToken: body.subject_token, scopes, address: clientAddress };
  const issued = await exchangeToken(request, { ...dependencies, publicUrl: signIn.publicUrl });
  const response: ExchangedToken = {
    access_token: issued.value,
    issued_token_type: accessTokenType,
    token_type: "Bearer",
    expires_in: issued.lifetimeSeconds,
    scope: issued.scopes.join(" "),
  };
  return jsonResponse(response);
}

function audienceFor(
  { actor }: Pick<KeepRequest, "actor">,
  { signIn: { publicUrl } }: Pick<KeepDependencies, "signIn">,
): string {
  return audienceOf(publicUrl, accountOf(actor));
}

/** An actor with a person of its own is in the account of an organisation. */
function accountOf({ accountId, personId }: Actor): AudienceAccount {
  return { accountId, kind: personId === undefined ? "person" : "organisation" };
}

/** Parameters of RFC 8693 that would change what is issued. */
function assertSupported(body: object): void {
  if (Object.hasOwn(body, "actor_token")) {
    const description = "actor_token is not supported";
    throw requestFailure({ kind: "exchange-refused", error: "invalid_request", description });
  }
  if (Object.hasOwn(body, "resource") || Object.hasOwn(body, "audience")) {
    const description = "resource and audience are not supported; the token is for the account that it names";
    throw requestFailure({ kind: "exchange-refused", error: "invalid_target", description });
  }
}

function readScopes(text: string): readonly Scope[] {
  const names = [...new Set(text.split(" "))];
  const scopes = names.flatMap((name) => parseScope(name) ?? []);
  if (scopes.length === names.length) return scopes;
  const description = "The scope must be names of scopes with one space between them";
  throw requestFailure({ kind: "exchange-refused", error: "invalid_scope", description });
}

function readSpec({ vault_ids, paths, lifetime_seconds, jwks, ...body }: NewTrustRule): RuleSpec {
  return {
    ...body,
    vaultIds: vault_ids ?? null,
    paths: paths ?? null,
    lifetimeSeconds: lifetime_seconds ?? defaultLifetimeSeconds,
    jwks: writeKeys(jwks ?? null),
  };
}

function readChanges({
  vault_ids,
  paths,
  lifetime_seconds,
  jwks,
  ...body
}: TrustRuleChanges): Partial<RuleSpec> {
  return {
    ...body,
    ...(vault_ids === undefined ? {} : { vaultIds: vault_ids }),
    ...(paths === undefined ? {} : { paths }),
    ...(lifetime_seconds === undefined ? {} : { lifetimeSeconds: lifetime_seconds }),
    ...(jwks === undefined ? {} : { jwks: writeKeys(jwks) }),
  };
}

type UploadedKeys = TrustRuleBody["jwks"];

function writeKeys(jwks: UploadedKeys): string | null {
  return jwks === null ? null : JSON.stringify(jwks.keys);
}

function describeRule(rule: TrustRule, audience: string): TrustRuleBody {
  return {
    id: rule.id,
    name: rule.name,
    provider: rule.provider,
    issuer: rule.issuer,
    conditions: rule.conditions.map(({ claim, values }) => ({ claim, values: [...values] })),
    scopes: rule.scopes.flatMap((scope) => parseScope(scope) ?? []),
    vault_ids: rule.vaultIds === null ? null : [...rule.vaultIds],
    paths: rule.paths === null ? null : [...rule.paths],
    lifetime_seconds: rule.lifetimeSeconds,
    // The keys that were validated when the rule was stored.
    jwks: rule.jwks === null ? null : { keys: JSON.parse(rule.jwks) as NonNullable<UploadedKeys>["keys"] },
    audience,
    created_at: rule.createdAt.toISOString(),
    created_by: rule.createdBy,
    changed_at: rule.changedAt?.toISOString() ?? null,
  };
}

function describeAttempts(attempts: readonly ComparedAttempt[]): ExchangeAttempts {
  return {
    items: attempts.map((attempt) => ({
      id: attempt.id,
      at: attempt.at.toISOString(),
      issuer: attempt.issuer,
      subject: attempt.subject,
      is_verified: attempt.isVerified,
      reason: attempt.reason,
      rule_id: attempt.ruleId,
      token_id: attempt.tokenId,
      claims: attempt.claims.map((claim) => ({ ...claim })),
      matches: attempt.mismatches.length === 0,
      mismatches: attempt.mismatches.map((mismatch) => ({ ...mismatch })),
    })),
  };
}
