import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import { requestFailure } from "../failures.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import type {
  Departure,
  IdentityProvider,
  IdentityProviders,
  ProviderKind,
  SignInSecrets,
} from "./identity-provider.ts";
import { deleteOldAttempts, insertAttempt, type Purpose } from "./queries.ts";
import { hashText, makeSecretText } from "./random-tokens.ts";
import { safeReturnTo } from "./return-to.ts";

export type SignInPlan = {
  /** As the address names it; a provider that is not there or not set is not found. */
  readonly provider: string;
  readonly purpose: Purpose;
  /** Who is signed in, unless that is what this is for. */
  readonly actor?: Actor;
  readonly returnTo: unknown;
};

export type BeginDependencies = {
  readonly database: Pick<Database, "ask">;
  readonly serverKeys: Pick<ServerKeys, "seal">;
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
};

/** The binder stays in the browser: who comes back without it did not leave from there. */
export type BegunSignIn = { readonly location: URL; readonly binder: string };

export const attemptSeconds = 600;

export async function beginSignIn(plan: SignInPlan, parts: BeginDependencies): Promise<BegunSignIn> {
  const provider = findProvider(parts.providers, plan.provider);
  const secrets = { state: makeSecretText(), nonce: makeSecretText(), verifier: makeSecretText() };
  const departure = departureFor(provider, { secrets, purpose: plan.purpose, publicUrl: parts.publicUrl });
  // Asked first: a provider that does not answer leaves nothing behind.
  const location = await provider.begin(departure);
  const binder = makeSecretText();
  const stateHash = hashText(secrets.state);
  await insertAttempt(
    parts.database,
    { stateHash, binderHash: hashText(binder) },
    {
      provider: provider.kind,
      purpose: plan.purpose,
      accountId: plan.actor?.accountId ?? null,
      sessionId: plan.actor?.id ?? null,
      sealed: parts.serverKeys.seal(Buffer.from(JSON.stringify(secrets)), attemptContext(stateHash)),
      returnTo: safeReturnTo(plan.returnTo, parts.publicUrl),
      seconds: attemptSeconds,
    },
  );
  await deleteOldAttempts(parts.database);
  return { location, binder };
}

export function findProvider(providers: IdentityProviders, name: string): IdentityProvider {
  const found = [...providers.values()].find(({ kind }) => kind === name);
  if (found === undefined) throw requestFailure({ kind: "not-found" });
  return found;
}

type Leave = { readonly secrets: SignInSecrets; readonly purpose: Purpose; readonly publicUrl: URL };

/** The same when the browser leaves and when it is back. */
export function departureFor(
  { kind }: Pick<IdentityProvider, "kind">,
  { secrets, purpose, publicUrl }: Leave,
): Departure {
  return { ...secrets, redirectUri: callbackUrl(kind, publicUrl).href, mustAskAgain: purpose !== "sign-in" };
}

/** One for each provider: an answer that comes to the other's is never taken for its own. */
export function callbackUrl(kind: ProviderKind, publicUrl: URL): URL {
  return new URL(`/auth/callback/${kind}`, publicUrl);
}

export function attemptContext(stateHash: Buffer): readonly [string, string] {
  return ["sign-in-attempt", stateHash.toString("hex")];
}
