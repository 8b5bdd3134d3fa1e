import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, id, label, lineOfText, nullable, timestamp } from "./shared-fields.ts";
import { paths, scopes, vaultIds } from "./tokens.ts";

const claimName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: "^[A-Za-z][A-Za-z0-9_./:-]*$",
  description: "Name of the claim",
  "x-expected": "the name of a claim, e.g. repository_id",
});

const claimCondition = Type.Object(
  {
    claim: claimName,
    values: Type.Array(lineOfText(512), {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description:
        "The claim must equal one of these. Only a value of `ref` may end with `*`, for all that begin with what is before it",
    }),
  },
  { ...closed, title: "ClaimCondition", description: "What a claim of the workload's token must be" },
);

const provider = Type.Enum(["github", "gitlab", "kubernetes", "generic"], {
  title: "WorkloadProvider",
  description: "Which system issues the tokens; decides which claims a rule must name",
});

const issuer = Type.String({
  minLength: 9,
  maxLength: 512,
  pattern: "^https://[!-~]+$",
  description: "The claim `iss` of its tokens, equal in every character",
  "x-expected": "an https URL without a query, e.g. https://token.actions.githubusercontent.com",
});

const keyText = (maxLength: number, description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength,
      pattern: "^[A-Za-z0-9_-]+$",
      description,
      "x-expected": `base64url of at most ${maxLength} characters`,
    }),
  );

const workloadKey = Type.Object(
  {
    kid: Type.String({ minLength: 1, maxLength: 255, description: "Id of the key" }),
    kty: Type.Enum(["RSA", "EC", "OKP"], { description: "Type of the key" }),
    alg: Type.Optional(
      Type.Enum(["RS256", "ES256", "EdDSA"], { description: "Algorithm of its signatures" }),
    ),
    use: Type.Optional(Type.Enum(["sig"], { description: "What the key is for" })),
    n: keyText(1400, "Modulus of an RSA key"),
    e: keyText(8, "Exponent of an RSA key"),
    crv: Type.Optional(Type.Enum(["P-256", "Ed25519"], { description: "Curve of any other key" })),
    x: keyText(64, "First coordinate of a key on a curve"),
    y: keyText(64, "Second coordinate of a key on a curve"),
  },
  { ...closed, title: "WorkloadKey", description: "A public key as a JSON Web Key (RFC 7517)" },
);

const jwks = Type.Object(
  {
    keys: Type.Array(workloadKey, { minItems: 1, maxItems: 20, description: "The issuer's public keys" }),
  },
  {
    ...closed,
    title: "WorkloadKeySet",
    description: "Keys of an issuer that Keep cannot reach, e.g. of a cluster",
  },
);

const lifetimeSeconds = Type.Integer({
  minimum: 60,
  maximum: 3600,
  description: "How long a token of the rule is valid",
});

const ruleName = described(label, "Name of the rule");
const conditions = Type.Array(claimCondition, {
  minItems: 1,
  maxItems: 20,
  description: "All of them must be met",
});
const uploadedKeys = described(
  nullable(jwks),
  "Keys to verify tokens with; null to get them from the issuer's discovery document",
);

const ruleFields = { name: ruleName, provider, issuer, conditions, scopes } as const;

export const newTrustRule = Type.Object(
  {
    ...ruleFields,
    vault_ids: Type.Optional(vaultIds),
    paths: Type.Optional(paths),
    lifetime_seconds: Type.Optional(
      described(lifetimeSeconds, "How long a token of the rule is valid; 900 by default"),
    ),
    jwks: Type.Optional(uploadedKeys),
  },
  { ...closed, title: "NewTrustRule", description: "The trust rule to create" },
);

export type NewTrustRule = Static<typeof newTrustRule>;

export const trustRuleChanges = Type.Object(
  {
    name: Type.Optional(ruleName),
    provider: Type.Optional(provider),
    issuer: Type.Optional(issuer),
    conditions: Type.Optional(conditions),
    scopes: Type.Optional(scopes),
    vault_ids: Type.Optional(vaultIds),
    paths: Type.Optional(paths),
    lifetime_seconds: Type.Optional(lifetimeSeconds),
    jwks: Type.Optional(uploadedKeys),
  },
  {
    ...closed,
    minProperties: 1,
    title: "TrustRuleChanges",
    description: "What to change. Every change but that of the name revokes the rule's tokens",
  },
);

export type TrustRuleChanges = Static<typeof trustRuleChanges>;

export const trustRule = Type.Object(
  {
    id: described(id, "Identifies the rule"),
    ...ruleFields,
    vault_ids: vaultIds,
    paths,
    lifetime_seconds: lifetimeSeconds,
    jwks: uploadedKeys,
    audience: Type.String({
      maxLength: 600,
      description: "The claim `aud` that a token must have, as its only audience",
    }),
    created_at: described(timestamp, "When it was created"),
    created_by: Type.String({
      maxLength: 64,
      description: "Who created it: `session:` or `person:` and an id",
    }),
    changed_at: described(nullable(timestamp), "When it was last changed; null for never"),
  },
  {
    ...closed,
    title: "TrustRule",
    description: "Which workloads get a token in exchange for one of their own, and what it may do",
  },
);

export type TrustRule = Static<typeof trustRule>;

export const trustRuleList = Type.Object(
  {
    items: Type.Array(trustRule, { maxItems: 100, description: "All rules, oldest first" }),
    audience: Type.String({ maxLength: 600, description: "The audience for which tokens must be requested" }),
  },
  { ...closed, title: "TrustRuleList", description: "The trust rules of an account or an organisation" },
);

const attemptClaim = Type.Object(
  {
    claim: claimName,
    value: Type.String({ maxLength: 512, description: "Value of the claim" }),
  },
  { ...closed, title: "AttemptClaim", description: "A claim of a token that was presented" },
);

const mismatch = Type.Object(
  {
    claim: Type.String({ maxLength: 128, description: "Name of the claim" }),
    reason: Type.String({ maxLength: 255, description: "Why it does not match the rule" }),
  },
  { ...closed, title: "ClaimMismatch", description: "A claim that does not match the rule" },
);

const exchangeAttempt = Type.Object(
  {
    id: described(id, "Identifies the attempt"),
    at: described(timestamp, "When the token was presented"),
    issuer: Type.String({ maxLength: 512, description: "Claim `iss` of the token" }),
    subject: Type.String({ maxLength: 512, description: "Claim `sub` of the token" }),
    is_verified: Type.Boolean({
      description: "Whether the issuer signed the token; otherwise anybody may have written its claims",
    }),
    reason: described(
      nullable(Type.String({ maxLength: 64 })),
      "Why it was refused; null if it was exchanged",
    ),
    rule_id: described(nullable(id), "The rule that accepted it"),
    token_id: described(nullable(id), "The token that was issued for it"),
    claims: Type.Array(attemptClaim, { maxItems: 64, description: "The claims that rules can name" }),
    matches: Type.Boolean({ description: "Whether the rule matches the token's issuer and claims" }),
    mismatches: Type.Array(mismatch, { maxItems: 24, description: "What does not match the rule" }),
  },
  { ...closed, title: "ExchangeAttempt", description: "A token that was presented for the account" },
);

export const exchangeAttempts = Type.Object(
  {
    items: Type.Array(exchangeAttempt, {
      maxItems: 100,
      description: "The last 50 verified tokens and the last 50 others, newest first",
    }),
  },
  {
    ...closed,
    title: "ExchangeAttempts",
    description: "The last tokens that were presented for the account, compared with a rule",
  },
);

export type ExchangeAttempts = Static<typeof exchangeAttempts>;

const tokenExchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const idTokenType = "urn:ietf:params:oauth:token-type:id_token";

/** RFC 8693 section 2.1. Other fields are ignored, as RFC 6749 section 3.2 demands. */
export const tokenExchange = Type.Object(
  {
    grant_type: Type.Enum([tokenExchangeGrant], { description: "Token exchange of RFC 8693" }),
    subject_token: Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: "The workload's token, a JSON Web Token",
    }),
    subject_token_type: Type.Enum([jwtType, idTokenType], { description: "Type of the workload's token" }),
    requested_token_type: Type.Optional(
      Type.Enum([accessTokenType], { description: "Type of the token to issue" }),
    ),
    scope: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: "Scopes for the token, with spaces between them; by default all of the rule",
      }),
    ),
  },
  { title: "TokenExchange", description: "A request to exchange a workload's token" },
);

export const exchangedToken = Type.Object(
  {
    access_token: Type.String({
      pattern: "^sk-svc-[0-9A-Za-z]{49}$",
      description: "Token of Keep; returned only in this response",
    }),
    issued_token_type: Type.Enum([accessTokenType], { description: "Type of the issued token" }),
    token_type: Type.Enum(["Bearer"], { description: "Sent as `Authorization: Bearer …`" }),
    expires_in: Type.Integer({ minimum: 0, maximum: 3600, description: "Seconds until it expires" }),
    scope: Type.String({ maxLength: 512, description: "Scopes of the token, with spaces between them" }),
  },
  { ...closed, title: "ExchangedToken", description: "The token that was issued (RFC 8693)" },
);

export type ExchangedToken = Static<typeof exchangedToken>;

export const oauthError = Type.Object(
  {
    error: Type.Enum(["invalid_request", "invalid_grant", "invalid_scope", "invalid_target"], {
      description: "What happened, for programs",
    }),
    error_description: Type.String({ maxLength: 2048, description: "What happened, for people" }),
  },
  { ...closed, title: "TokenExchangeError", description: "A refused exchange (RFC 6749 section 5.2)" },
);

export type OAuthError = Static<typeof oauthError>;
