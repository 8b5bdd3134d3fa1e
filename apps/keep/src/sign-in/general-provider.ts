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
import type { Person } from "../accounts/person.ts";
import { requestFailure } from "../failures.ts";
import type { Departure, IdentityProvider } from "./identity-provider.ts";
import { asFetch, providerSeconds } from "./provider-client.ts";
import { challengeFor } from "./random-tokens.ts";
import { shownText } from "./sanitize-display-name.ts";

export type GeneralSettings = {
  readonly name: string;
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly outbound: Pick<Outbound, "request">;
};

/** Signatures that nobody can make who only knows what is published, or what we hold. */
const asymmetric = new Set(
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"].concat(
    "EdDSA",
    "Ed25519",
  ),
);
const clockSeconds = 60;
/** How old the provider's own sign-in may be when we asked for a new one. */
const mostSecondsSinceAsked = 15 * 60;
const discoveryPatienceMilliseconds = 2000;

/** OpenID Connect by discovery, which is tried when it is needed and again until it succeeds. */
export function createGeneralProvider(settings: GeneralSettings): IdentityProvider {
  const { name, issuer } = settings;
  let discovered: Promise<Configuration> | undefined;
  let endpointOrigin: string | undefined;
  const configuration = async (): Promise<Configuration> => {
    discovered ??= discover(settings);
    const attempt = discovered;
    try {
      const known = await attempt;
      endpointOrigin = buildAuthorizationUrl(known, {}).origin;
      return known;
    } catch (problem) {
      // Only the attempt that failed: the next one may be under way already.
      if (discovered === attempt) discovered = undefined;
      throw problem;
    }
  };
  return {
    kind: "general",
    name,
    async prepare() {
      const patience = new AbortController();
      const hurry = sleep(discoveryPatienceMilliseconds, undefined, { ref: false, signal: patience.signal });
      await Promise.race([configuration(), hurry]).catch(() => undefined);
      patience.abort();
      await hurry.catch(() => undefined);
    },
    origins: () => [...new Set([issuer.origin, ...(endpointOrigin === undefined ? [] : [endpointOrigin])])],
    begin: async (departure) => authorizationUrl(await configuration(), departure),
    async finish(callback, departure) {
      const known = await configuration();
      try {
        return await redeem(known, { callback, departure });
      } catch (problem) {
        throw explain(problem, name);
      }
    },
  };
}

async function discover({ name, issuer, clientId, clientSecret, outbound }: GeneralSettings) {
  const isInsecure = issuer.protocol === "http:";
  // Without it the library trusts the connection alone, and no signature is looked at.
  const extensions = [enableNonRepudiationChecks, ...(isInsecure ? [allowInsecureRequests] : [])];
  try {
    const authentication = clientSecret === undefined ? None() : ClientSecretPost(clientSecret);
    const known = await discovery(issuer, clientId, { [clockTolerance]: clockSeconds }, authentication, {
      [customFetch]: asFetch({ outbound, isInsecure, name }),
      execute: extensions,
      timeout: providerSeconds,
    });
    // Says now rather than at the first click that there is nowhere to go.
    buildAuthorizationUrl(known, {});
    return known;
  } catch (problem) {
    throw requestFailure({ kind: "provider-unavailable", provider: name }, { cause: problem });
  }
}

function authorizationUrl(
  configuration: Configuration,
  { state, nonce, verifier, redirectUri, mustAskAgain }: Departure,
): URL {
  return buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: "openid email profile",
    state,
    nonce,
    code_challenge: challengeFor(verifier),
    code_challenge_method: "S256",
    ...(mustAskAgain ? { max_age: "0" } : {}),
  });
}

type Arrival = { readonly callback: URL; readonly departure: Departure };

async function redeem(configuration: Configuration, { callback, departure }: Arrival): Promise<Person> {
  const tokens = await authorizationCodeGrant(configuration, callback, {
    pkceCodeVerifier: departure.verifier,
    expectedState: departure.state,
    expectedNonce: departure.nonce,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new Error("There is no ID token");
  checkRest(claims, { configuration, departure, tokens });
  const email = claims["email_verified"] === true ? shownText(claims["email"], 320) : undefined;
  return {
    provider: "general",
    issuer: configuration.serverMetadata().issuer,
    subject: claims.sub,
    displayName: shownText(claims["name"] ?? email, 200) ?? claims.sub.slice(0, 200),
    ...(email === undefined ? {} : { email }),
  };
}

type Proof = {
  readonly configuration: Configuration;
  readonly departure: Departure;
  readonly tokens: TokenEndpointResponse;
};

/** What the library leaves to us. */
function checkRest(claims: IDToken, { configuration, departure, tokens }: Proof): void {
  const now = Date.now() / 1000;
  if (!asymmetric.has(algorithmOf(tokens.id_token)))
    throw new Error("Anybody could have signed the ID token");
  if (claims.iat > now + clockSeconds) throw new Error("The ID token is from the future");
  if (claims.azp !== undefined && claims.azp !== configuration.clientMetadata().client_id) {
    throw new Error("The ID token was made for another client");
  }
  // OpenID Connect Core 2: at most 255 characters of ASCII.
  if (!/^[\x20-\x7e]{1,255}$/u.test(claims.sub)) throw new Error("The subject is no subject");
  const hash = claims["at_hash"];
  // Which digest belongs to it is the algorithm's word; a half of none of them is a forgery.
  if (
    hash !== undefined &&
    !["sha256", "sha384", "sha512"].some((digest) => halfOf(tokens.access_token, digest) === hash)
  ) {
    throw new Error("The ID token came with another access token");
  }
  const authenticatedAt = claims.auth_time;
  if (
    departure.mustAskAgain &&
    authenticatedAt !== undefined &&
    authenticatedAt < now - mostSecondsSinceAsked
  ) {
    throw new Error("The person was not asked again");
  }
}

/** The library has verified the signature, so this is a header with an algorithm in it. */
function algorithmOf(token: string | undefined): string {
  const header: unknown = JSON.parse(Buffer.from(token?.split(".")[0] ?? "", "base64url").toString("utf8"));
  return typeof header === "object" && header !== null && "alg" in header ? String(header.alg) : "";
}

/** OpenID Connect Core 3.1.3.6. */
function halfOf(accessToken: string, digest: string): string {
  const whole = createHash(digest).update(accessToken).digest();
  return whole.subarray(0, whole.length / 2).toString("base64url");
}

/** What the provider answered is not told on; it may hold what an attacker wrote. */
function explain(problem: unknown, name: string): Error {
  const [ours] = causesOf(problem).filter((cause) => cause instanceof FailureError);
  if (ours !== undefined) return ours;
  const isAway = causesOf(problem).some((cause) => cause instanceof Response && cause.status >= 500);
  if (isAway) return requestFailure({ kind: "provider-unavailable", provider: name }, { cause: problem });
  const reason =
    problem instanceof AuthorizationResponseError
      ? `The sign-in was not allowed at ${name}`
      : `What ${name} answered does not prove who signed in`;
  return requestFailure({ kind: "sign-in-refused", reason }, { cause: problem });
}

function causesOf(problem: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let cause = problem; cause !== undefined && causes.length < 8; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
