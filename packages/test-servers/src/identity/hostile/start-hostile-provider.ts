/**
 * @module
 * An OpenID Connect provider that lies on request (`oauth2-mock-server` underneath): a test names one forgery, signs
 * in, and expects the application to refuse; the behaviour "honest" is the same sign-in without the lie.
 * It asks nobody for a password and accepts every client, so it proves nothing but refusals and their honest twin.
 * Imported by the package's index and tests beside it.
 */
import { createHash } from "node:crypto";
import {
  Events,
  type MutableRedirectUri,
  type MutableResponse,
  OAuth2Issuer,
  OAuth2Service,
} from "oauth2-mock-server";
import { serveOnLoopback } from "../../loopback-server.ts";
import { makeSigningKey } from "../signing-keys.ts";
import { walkSignIn } from "../walk-sign-in.ts";
import { type Behaviour, type Departure, departures } from "./forgeries.ts";
import { type Claims, type SigningOptions, signHonestly } from "./sign-id-token.ts";

export type HostileAccount = {
  readonly subject: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
};

export type HostileIdentityProvider = AsyncDisposable & {
  readonly issuer: string;
  /** From the next request on; discovery documents that a client keeps are not taken back. */
  behaveAs(behaviour: Behaviour): void;
  /** Gives the callback URL, unvisited; there is no page to fill in. */
  signIn(authorizationUrl: URL | string): Promise<URL>;
};

const someAccount = { subject: "100", email: "first@example.com", isEmailVerified: true };

export async function startHostileIdentityProvider(
  account: HostileAccount = someAccount,
): Promise<HostileIdentityProvider> {
  const [key, unpublishedKey] = await Promise.all([makeSigningKey(), makeSigningKey()]);
  const issuer = new OAuth2Issuer();
  await issuer.keys.add(key);
  const service = new OAuth2Service(issuer);
  const server = await serveOnLoopback((request, response) => service.requestHandler(request, response));
  issuer.url = server.origin;
  let departure: Departure = departures.honest;
  misbehave(service, { account, signing: { key, unpublishedKey }, currentDeparture: () => departure });
  return {
    issuer: server.origin,
    behaveAs: (behaviour) => {
      departure = departures[behaviour];
    },
    signIn: (authorizationUrl) => walkSignIn(authorizationUrl, { account: account.subject }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

type Script = {
  readonly account: HostileAccount;
  readonly signing: SigningOptions;
  readonly currentDeparture: () => Departure;
};

function misbehave(service: OAuth2Service, { account, signing, currentDeparture }: Script): void {
  const person = { sub: account.subject, email: account.email, email_verified: account.isEmailVerified };
  service.on(Events.BeforeWellKnownOpenIdConfiguration, (document: MutableResponse) => {
    const metadata = { ...membersOf(document), authorization_response_iss_parameter_supported: true };
    document.body = currentDeparture().discovery?.(metadata) ?? metadata;
  });
  service.on(Events.BeforeAuthorizeRedirect, ({ url }: MutableRedirectUri) => {
    url.searchParams.set("iss", service.issuer.url ?? "");
    currentDeparture().redirect?.(url.searchParams);
  });
  service.on(Events.BeforeResponse, (answer: MutableResponse) => {
    const tokens = membersOf(answer);
    const { claims: change, sign = signHonestly, answer: shape } = currentDeparture();
    const claims = {
      ...decodeClaims(tokens["id_token"]),
      ...person,
      at_hash: hashOf(tokens["access_token"]),
    };
    const signed = { ...tokens, id_token: sign(change?.(claims) ?? claims, signing) };
    answer.body = shape?.(signed) ?? signed;
  });
  service.on(Events.BeforeUserinfo, (answer: MutableResponse) => {
    answer.body = currentDeparture().userinfo?.(person) ?? person;
  });
}

function membersOf({ body }: MutableResponse): Claims {
  return body === "" ? {} : body;
}

function decodeClaims(token: unknown): Claims {
  const [, payload = ""] = String(token).split(".");
  // The library has just made this token, and its payload is always an object.
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Claims;
}

// OpenID Connect Core 3.1.3.6: the left half of the digest that belongs to RS256.
function hashOf(accessToken: unknown): string {
  return createHash("sha256").update(String(accessToken)).digest().subarray(0, 16).toString("base64url");
}
