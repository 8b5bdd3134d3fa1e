/**
 * @module
 * An OpenID Connect provider that forges on request (based on `oauth2-mock-server`): a test selects one forgery, signs
 * in, and expects the application to reject it; the behaviour "honest" is the same sign-in without the forgery.
 * It requires no password and accepts every client, so use it only to test rejections and their honest counterpart.
 * Imported by the package's index and neighbouring tests.
 */
import { createHash } from "node:crypto";
import type { Events, MutableRedirectUri, MutableResponse, OAuth2Service } from "oauth2-mock-server";
import { serveOnLoopback } from "../../loopback-server.ts";
import { makeSigningKey } from "../signing-keys.ts";
import { walkSignIn } from "../walk-sign-in.ts";
import { type Behaviour, type Deviation, deviations } from "./forgeries.ts";
import { type Claims, type SigningOptions, signHonestly } from "./sign-id-token.ts";

export type HostileAccount = {
  readonly subject: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
};

export type HostileIdentityProvider = AsyncDisposable & {
  readonly issuer: string;
  /** Takes effect with the next request; discovery documents that a client has cached stay as they are. */
  behaveAs(behaviour: Behaviour): void;
  /** Returns the callback URL without visiting it; there is no page to fill in. */
  signIn(authorizationUrl: URL | string): Promise<URL>;
};

const defaultAccount = { subject: "100", email: "first@example.com", isEmailVerified: true };

export async function startHostileIdentityProvider(
  account: HostileAccount = defaultAccount,
): Promise<HostileIdentityProvider> {
  const [key, unpublishedKey] = await Promise.all([makeSigningKey(), makeSigningKey()]);
  // Loaded here, because most tests start no provider.
  const library = await import("oauth2-mock-server");
  const issuer = new library.OAuth2Issuer();
  await issuer.keys.add(key);
  const service = new library.OAuth2Service(issuer);
  const server = await serveOnLoopback((request, response) => service.requestHandler(request, response));
  issuer.url = server.origin;
  let deviation: Deviation = deviations.honest;
  applyBehaviour(service, {
    account,
    signing: { key, unpublishedKey },
    currentDeviation: () => deviation,
    events: library.Events,
  });
  return {
    issuer: server.origin,
    behaveAs: (behaviour) => {
      deviation = deviations[behaviour];
    },
    signIn: (authorizationUrl) => walkSignIn(authorizationUrl, { account: account.subject }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

type BehaviourPlan = {
  readonly account: HostileAccount;
  readonly signing: SigningOptions;
  readonly currentDeviation: () => Deviation;
  readonly events: typeof Events;
};

function applyBehaviour(
  service: OAuth2Service,
  { account, signing, currentDeviation, events }: BehaviourPlan,
): void {
  const user = { sub: account.subject, email: account.email, email_verified: account.isEmailVerified };
  service.on(events.BeforeWellKnownOpenIdConfiguration, (document: MutableResponse) => {
    const metadata = { ...membersOf(document), authorization_response_iss_parameter_supported: true };
    document.body = currentDeviation().discovery?.(metadata) ?? metadata;
  });
  service.on(events.BeforeAuthorizeRedirect, ({ url }: MutableRedirectUri) => {
    url.searchParams.set("iss", service.issuer.url ?? "");
    currentDeviation().redirect?.(url.searchParams);
  });
  service.on(events.BeforeResponse, (response: MutableResponse) => {
    const tokens = membersOf(response);
    const { claims: change, sign = signHonestly, response: shape } = currentDeviation();
    const claims = {
      ...decodeClaims(tokens["id_token"]),
      ...user,
      at_hash: hashOf(tokens["access_token"]),
    };
    const signed = { ...tokens, id_token: sign(change?.(claims) ?? claims, signing) };
    response.body = shape?.(signed) ?? signed;
  });
  service.on(events.BeforeUserinfo, (response: MutableResponse) => {
    response.body = currentDeviation().userinfo?.(user) ?? user;
  });
}

function membersOf({ body }: MutableResponse): Claims {
  return body === "" ? {} : body;
}

function decodeClaims(token: unknown): Claims {
  const [, payload = ""] = String(token).split(".");
  // The library has just created this token, and its payload is always an object.
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Claims;
}

// OpenID Connect Core 3.1.3.6: the left half of the digest that RS256 uses.
function hashOf(accessToken: unknown): string {
  return createHash("sha256").update(String(accessToken)).digest().subarray(0, 16).toString("base64url");
}
