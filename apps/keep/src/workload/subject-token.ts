import { createHash } from "node:crypto";
import { parseBoundedJson } from "@hearth-and-keep/bounded-json";
import { isId } from "../generate-id.ts";
import { isObject } from "../is-object.ts";
import { hasRepeatedMember } from "./has-repeated-member.ts";
import { type Claims, claimOf } from "./match-rule.ts";
import { type AudienceAccount, audienceOf } from "./trust-rule.ts";

/** A JSON Web Token as presented; nothing in it is verified. */
export type SubjectToken = {
  readonly text: string;
  readonly header: Claims;
  readonly claims: Claims;
};

/** Signature algorithms of public keys; nothing that a public key could be misused for as a secret. */
const algorithms = ["RS256", "ES256", "EdDSA"] as const;
type Algorithm = (typeof algorithms)[number];

const maxCharacters = 16_384;
const segments = /^(?<header>[A-Za-z0-9_-]+)\.(?<payload>[A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/u;

/** Undefined unless the text is a signed token (RFC 7515) with objects as its header and payload. */
export function parseSubjectToken(text: string): SubjectToken | undefined {
  if (text.length > maxCharacters) return undefined;
  const { header: headerText = "", payload = "" } = segments.exec(text)?.groups ?? {};
  const header = parseObject(headerText);
  const claims = parseObject(payload);
  return header === undefined || claims === undefined ? undefined : { text, header, claims };
}

function parseObject(segment: string): Claims | undefined {
  const bytes = Buffer.from(segment, "base64url");
  // One text has one encoding, so that no two texts stand for one token.
  if (bytes.toString("base64url") !== segment) return undefined;
  const json = bytes.toString("utf8");
  const value = parseBoundedJson(json);
  return isObject(value) && !hasRepeatedMember(json) ? value : undefined;
}

/** The account that the only audience names, and as what; undefined for any other audience. */
export function accountOf({ claims }: SubjectToken, publicUrl: URL): AudienceAccount | undefined {
  const audience = claimOf(claims, "aud");
  const [only, ...others]: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (typeof only !== "string" || others.length > 0) return undefined;
  const accountId = only.slice(only.lastIndexOf("/") + 1);
  const named = (["person", "organisation"] as const).map((kind) => ({ accountId, kind }));
  return isId(accountId) ? named.find((account) => only === audienceOf(publicUrl, account)) : undefined;
}

export type SigningKeyRef = { readonly algorithm: Algorithm; readonly keyId: string };

/** Parameters with which a token would bring its own key or rules, or say that it contains another one. */
const refusedParameters = ["jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "cty", "enc"];

/** How the token says that it is signed, or why that is not acceptable. */
export function readHeader({
  header,
}: SubjectToken): SigningKeyRef | "header-not-allowed" | "algorithm-not-allowed" {
  const algorithm = algorithms.find((each) => each === claimOf(header, "alg"));
  if (algorithm === undefined) return "algorithm-not-allowed";
  const type = claimOf(header, "typ");
  const keyId = claimOf(header, "kid");
  const isAllowed =
    (type === undefined || type === "JWT") && !refusedParameters.some((name) => Object.hasOwn(header, name));
  if (!isAllowed || typeof keyId !== "string" || keyId === "" || keyId.length > 255)
    return "header-not-allowed";
  return { algorithm, keyId };
}

const skewSeconds = 60;
const maxLifetimeSeconds = 86_400;
/** One line, as names of tokens and audit records are. */
const subjectPattern = /^[^\p{C}]{1,512}$/u;

export type ClaimsProblem = "claims-incomplete" | "expired" | "not-valid-yet" | "lifetime-too-long";

/** Checks what every verified token must say. */
export function findClaimsProblem({ claims }: SubjectToken, now: Date): ClaimsProblem | undefined {
  const [expiresAt, notBefore, issuedAt] = ["exp", "nbf", "iat"].map((name) => secondsOf(claims, name));
  const subject = claimOf(claims, "sub");
  const tokenId = claimOf(claims, "jti");
  const isIdentified = tokenId === undefined || (typeof tokenId === "string" && tokenId !== "");
  if (typeof subject !== "string" || !subjectPattern.test(subject) || !isIdentified)
    return "claims-incomplete";
  if (expiresAt === undefined || notBefore === undefined || issuedAt === undefined)
    return "claims-incomplete";
  const seconds = now.getTime() / 1000;
  if (expiresAt + skewSeconds <= seconds) return "expired";
  if (Math.max(notBefore, issuedAt) > seconds + skewSeconds) return "not-valid-yet";
  return expiresAt - issuedAt > maxLifetimeSeconds ? "lifetime-too-long" : undefined;
}

function secondsOf(claims: Claims, name: string): number | undefined {
  const value = claimOf(claims, name);
  return typeof value === "number" && value > 0 && value < 1e11 ? value : undefined;
}

export type TokenUse = { readonly hash: Buffer; readonly until: Date };

/**
 * Identifies the token for as long as it would be accepted: by its issuer and id, or without one by what is signed. Not by
 * its signature, of which some algorithms have several valid forms.
 */
export function identifyUse({ text, claims }: SubjectToken): TokenUse {
  const tokenId = claimOf(claims, "jti");
  const signed = text.slice(0, text.lastIndexOf("."));
  const identity = tokenId === undefined ? ["signed", signed] : ["id", claimOf(claims, "iss"), tokenId];
  const hash = createHash("sha256").update(JSON.stringify(identity)).digest();
  const expiresAt = secondsOf(claims, "exp") ?? 0;
  return { hash, until: new Date((expiresAt + skewSeconds + 1) * 1000) };
}
