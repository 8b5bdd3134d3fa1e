import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { parseCode } from "../organisations/invitation-code.ts";
import type {
  AttemptSecrets,
  AuthorizationRequest,
  IdentityProvider,
  IdentityProviders,
  ProviderKind,
  SignInSecrets,
} from "./identity-provider.ts";
import {
  type Attempt,
  type AttemptKey,
  deleteExpiredAttempts,
  insertAttempt,
  type Purpose,
} from "./queries.ts";
import { generateRandomToken, hashText } from "./random-tokens.ts";
import { safeReturnTo } from "./return-to.ts";

export type SignInRequest = {
  /** The provider in the request path; unknown and unconfigured providers are not found. */
  readonly provider: string;
  readonly purpose: Purpose;
  /** The signed-in person who links or confirms an identity; absent for a plain sign-in. */
  readonly actor?: Actor;
  readonly returnTo: unknown;
  /** The code of an invitation to accept, which is returned to after the sign-in. */
  readonly invitation?: unknown;
};

export type BeginDependencies = {
  readonly database: Pick<Database, "query">;
  readonly serverKeys: Pick<ServerKeys, "encrypt">;
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
};

/** The binder is a cookie that ties the callback to the browser that started the sign-in. */
export type SignInRedirect = { readonly location: URL; readonly binder: string };

export const attemptSeconds = 600;

export async function beginSignIn(
  request: SignInRequest,
  dependencies: BeginDependencies,
): Promise<SignInRedirect> {
  const provider = findProvider(dependencies.providers, request.provider);
  const secrets = {
    state: generateRandomToken(),
    nonce: generateRandomToken(),
    verifier: generateRandomToken(),
  };
  const authorizationRequest = authorizationRequestFor(provider, {
    secrets,
    purpose: request.purpose,
    publicUrl: dependencies.publicUrl,
  });
  // Before the insert, so that an unavailable provider leaves no row behind.
  const location = await provider.begin(authorizationRequest);
  const binder = generateRandomToken();
  const key = { stateHash: hashText(secrets.state), binderHash: hashText(binder) };
  const attempt = {
    provider: provider.kind,
    purpose: request.purpose,
    accountId: request.actor?.accountId ?? null,
    sessionId: request.actor?.id ?? null,
    returnTo: safeReturnTo(request.returnTo, dependencies.publicUrl),
  };
  const sealed = dependencies.serverKeys.encrypt(
    Buffer.from(JSON.stringify({ ...secrets, ...readInvitationCode(request.invitation) })),
    attemptAssociatedData(key, attempt),
  );
  await insertAttempt(dependencies.database, key, { ...attempt, sealed, seconds: attemptSeconds });
  await deleteExpiredAttempts(dependencies.database);
  return { location, binder };
}

/** Encrypted with the other secrets of the attempt. Ignored unless it has the format of a code. */
function readInvitationCode(given: unknown): Pick<AttemptSecrets, "invitation"> {
  return typeof given === "string" && parseCode(given) !== undefined ? { invitation: given } : {};
}

export function findProvider(providers: IdentityProviders, name: string): IdentityProvider {
  const found = [...providers.values()].find(({ kind }) => kind === name);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return found;
}

type AuthorizationOptions = {
  readonly secrets: SignInSecrets;
  readonly purpose: Purpose;
  readonly publicUrl: URL;
};

/** Called at the redirect and again at the callback, which must use the same values. */
export function authorizationRequestFor(
  { kind }: Pick<IdentityProvider, "kind">,
  { secrets, purpose, publicUrl }: AuthorizationOptions,
): AuthorizationRequest {
  return {
    ...secrets,
    redirectUri: callbackUrl(kind, publicUrl).href,
    requiresReauthentication: purpose !== "sign-in",
    requiresAuthenticationTime: purpose === "confirm",
  };
}

/** One URL per provider, so that one provider's response is never accepted as another's (mix-up attack). */
export function callbackUrl(kind: ProviderKind, publicUrl: URL): URL {
  return new URL(`/auth/callback/${kind}`, publicUrl);
}

/** The whole attempt, so that it cannot be given to another browser, account or purpose in the database. */
export function attemptAssociatedData(
  { stateHash, binderHash }: AttemptKey,
  { provider, purpose, accountId, sessionId, returnTo }: Omit<Attempt, "sealed">,
): readonly [string, ...(readonly string[])] {
  const key = [stateHash.toString("hex"), binderHash.toString("hex")];
  return ["sign-in-attempt", ...key, provider, purpose, accountId ?? "", sessionId ?? "", returnTo];
}
