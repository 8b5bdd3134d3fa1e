import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { Outbound } from "@hearth-and-keep/outbound-http";
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  type Configuration,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  type IDToken,
  None,
  type TokenEndpointResponse,
} from "openid-client";
import { requestFailure } from "../failures.ts";
import type { Authentication, AuthorizationRequest, IdentityProvider } from "./identity-provider.ts";
import { asFetch, providerTimeoutSeconds } from "./provider-client.ts";
import { pkceChallenge } from "./random-tokens.ts";
import { readEvidenceGroups, readTeamGroups } from "./read-groups.ts";
import { sanitizeDisplayText } from "./sanitize-display-name.ts";

export type GeneralSettings = {
  readonly name: string;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly groups: GroupSettings;
  readonly outbound: Pick<Outbound, "request">;
};

type GroupSettings = {
  /** The claim of the ID token that lists groups. */
  readonly claim: string;
  /** A scope to request for it, if the provider needs one and groups are used. */
  readonly scope: string | undefined;
  /** Whether the operator has named the claim, so that it may change who is in a team. */
  readonly fillsTeams: boolean;
};

/** Excludes HMAC algorithms, whose key is the client secret or could be confused with the public key. */
const asymmetricAlgorithms = new Set(
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"].concat(
    "EdDSA",
    "Ed25519",
  ),
);
const clockToleranceSeconds = 60;
/** The maximum age of the provider's `auth_time` when reauthentication was requested. */
const maxAuthenticationAgeSeconds = 15 * 60;
const discoveryTimeoutMilliseconds = 2000;

/** OpenID Connect. Discovery runs on first use and is repeated until it succeeds. */
export function createGeneralProvider(settings: GeneralSettings): IdentityProvider {
  const { name, issuer } = settings;
  let discovered: Promise<Configuration> | undefined;
  let endpointOrigin: string | undefined;
  const configuration = async (): Promise<Configuration> => {
    discovered ??= discover(settings);
    const attempt = discovered;
    try {
      const metadata = await attempt;
      endpointOrigin = buildAuthorizationUrl(metadata, {}).origin;
      return metadata;
    } catch (error) {
      // A newer attempt may already be running; only the failed one is cleared.
      if (discovered === attempt) discovered = undefined;
      throw error;
    }
  };
  return {
    kind: "general",
    name,
    fillsTeams: settings.groups.fillsTeams,
    async prepare() {
      const cancel = new AbortController();
      const timeout = sleep(discoveryTimeoutMilliseconds, undefined, { ref: false, signal: cancel.signal });
      await Promise.race([configuration(), timeout]).catch(() => undefined);
      cancel.abort();
      await timeout.catch(() => undefined);
    },
    origins: () => [...new Set([issuer.origin, ...(endpointOrigin === undefined ? [] : [endpointOrigin])])],
    begin: async (request) => authorizationUrl(await configuration(), request, settings.groups),
    async finish(callback, request) {
      const metadata = await configuration();
      try {
        return await exchangeCode(metadata, { callback, request, groups: settings.groups });
      } catch (error) {
        throw toFailure(error, name);
      }
    },
  };
}

async function discover({ name, issuer, clientId, clientSecret, outbound }: GeneralSettings) {
  const isInsecure = issuer.protocol === "http:";
  // Without these checks the library relies on TLS and does not verify the ID token's signature.
  const extensions = [enableNonRepudiationChecks, ...(isInsecure ? [allowInsecureRequests] : [])];
  try {
    const authentication = clientSecret === undefined ? None() : ClientSecretPost(clientSecret);
    const metadata = await discovery(
      issuer,
      clientId,
      { [clockTolerance]: clockToleranceSeconds },
      authentication,
      {
        [customFetch]: asFetch({ outbound, isInsecure, name }),
        execute: extensions,
        timeout: providerTimeoutSeconds,
      },
    );
    // Fails here, at discovery, if the provider has no usable authorization endpoint.
    buildAuthorizationUrl(metadata, {});
    return metadata;
  } catch (error) {
    throw requestFailure({ kind: "provider-unavailable", provider: name }, { cause: error });
  }
}

function authorizationUrl(
  configuration: Configuration,
  { state, nonce, verifier, redirectUri, requiresReauthentication }: AuthorizationRequest,
  groups: GroupSettings,
): URL {
  return buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: ["openid email profile", ...(groups.scope === undefined ? [] : [groups.scope])].join(" "),
    state,
    nonce,
    code_challenge: pkceChallenge(verifier),
    code_challenge_method: "S256",
    ...(requiresReauthentication ? { max_age: "0" } : {}),
  });
}

type RedeemOptions = {
  readonly callback: URL;
  readonly request: AuthorizationRequest;
  readonly groups: GroupSettings;
};

async function exchangeCode(
  configuration: Configuration,
  { callback, request, groups }: RedeemOptions,
): Promise<Authentication> {
  const tokens = await authorizationCodeGrant(configuration, callback, {
    pkceCodeVerifier: request.verifier,
    expectedState: request.state,
    expectedNonce: request.nonce,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new Error("No ID token");
  checkClaims(claims, { configuration, tokens });
  checkAuthenticationTime(claims, request);
  const verifiedEmails = readVerifiedEmails(claims);
  const email = sanitizeDisplayText(verifiedEmails[0], 320);
  const person = {
    provider: "general",
    issuer: configuration.serverMetadata().issuer,
    subject: claims.sub,
    displayName: sanitizeDisplayText(claims["name"] ?? email, 200) ?? claims.sub.slice(0, 200),
    ...(email === undefined ? {} : { email }),
  } as const;
  const evidence = {
    verifiedEmails,
    organizations: [],
    groups: readEvidenceGroups(claims, groups.claim),
  };
  const teamGroups = groups.fillsTeams ? { teamGroups: readTeamGroups(claims, groups.claim) } : {};
  return { person, evidence, ...teamGroups };
}

function readVerifiedEmails({ email, email_verified: isVerified }: IDToken): readonly string[] {
  return isVerified === true && typeof email === "string" ? [email] : [];
}

type TokenContext = {
  readonly configuration: Configuration;
  readonly tokens: TokenEndpointResponse;
};

/** Checks that the library does not make. */
function checkClaims(claims: IDToken, { configuration, tokens }: TokenContext): void {
  const now = Date.now() / 1000;
  if (!asymmetricAlgorithms.has(algorithmOf(tokens.id_token)))
    throw new Error("The ID token is not signed with an asymmetric algorithm");
  if (claims.iat > now + clockToleranceSeconds) throw new Error("The ID token was issued in the future");
  if (claims.azp !== undefined && claims.azp !== configuration.clientMetadata().client_id) {
    throw new Error("The ID token was issued to another client");
  }
  // OpenID Connect Core 2: at most 255 characters of ASCII.
  if (!/^[\x20-\x7e]{1,255}$/u.test(claims.sub)) throw new Error("The ID token has an invalid subject");
  const hash = claims["at_hash"];
  // The digest depends on the signing algorithm; accepting any of the three does not weaken the check.
  if (
    hash !== undefined &&
    !["sha256", "sha384", "sha512"].some((digest) => leftHalfHash(tokens.access_token, digest) === hash)
  ) {
    throw new Error("The ID token's at_hash does not match the access token");
  }
}

/**
 * OpenID Connect Core 3.1.2.1 requires the claim in response to `max_age`. A provider that ignores both may not have asked
 * for a password at all, so its response does not make a session fresh.
 */
function checkAuthenticationTime(
  { auth_time: authenticatedAt }: IDToken,
  { requiresReauthentication, requiresAuthenticationTime }: AuthorizationRequest,
): void {
  if (!requiresReauthentication) return;
  if (authenticatedAt === undefined && requiresAuthenticationTime) {
    const reason =
      "The provider did not state when you last authenticated, so this does not confirm your identity. Sign out and sign in again";
    throw requestFailure({ kind: "sign-in-refused", reason });
  }
  const oldest = Date.now() / 1000 - maxAuthenticationAgeSeconds;
  if (authenticatedAt !== undefined && authenticatedAt < oldest) {
    throw new Error("The provider did not reauthenticate the person");
  }
}

/** The library has verified the signature, so the header is valid JSON with an algorithm. */
function algorithmOf(token: string | undefined): string {
  const header: unknown = JSON.parse(Buffer.from(token?.split(".")[0] ?? "", "base64url").toString("utf8"));
  return typeof header === "object" && header !== null && "alg" in header ? String(header.alg) : "";
}

/** The at_hash of OpenID Connect Core 3.1.3.6: the left half of the access token's hash. */
function leftHalfHash(accessToken: string, digest: string): string {
  const digestBytes = createHash(digest).update(accessToken).digest();
  return digestBytes.subarray(0, digestBytes.length / 2).toString("base64url");
}

/** The provider's own error text is not passed on, because an attacker may have written it. */
function toFailure(error: unknown, name: string): Error {
  const [failure] = listCauses(error).filter((cause) => cause instanceof FailureError);
  if (failure !== undefined) return failure;
  const isUnavailable = listCauses(error).some((cause) => cause instanceof Response && cause.status >= 500);
  if (isUnavailable)
    return requestFailure({ kind: "provider-unavailable", provider: name }, { cause: error });
  const reason =
    error instanceof AuthorizationResponseError
      ? `The sign-in was canceled or denied at ${name}`
      : `The response from ${name} could not be verified`;
  return requestFailure({ kind: "sign-in-refused", reason }, { cause: error });
}

function listCauses(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < 8; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
