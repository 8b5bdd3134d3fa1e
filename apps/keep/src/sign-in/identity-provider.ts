import type { Person } from "../accounts/person.ts";
import type { Evidence } from "../admission/decide-admission.ts";
import type { StatedGroups } from "../organisations/teams/fill-teams.ts";

const providerKinds = ["code-hosting", "general"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** Random values of one sign-in attempt, stored encrypted until the callback. */
export type SignInSecrets = { readonly state: string; readonly nonce: string; readonly verifier: string };

/** With the code of the invitation that the person came with. */
export type AttemptSecrets = SignInSecrets & { readonly invitation?: string };

export type AuthorizationRequest = SignInSecrets & {
  readonly redirectUri: string;
  /** Asks the provider to authenticate the person again instead of using its own session. */
  readonly requiresReauthentication: boolean;
  /** Rejects a response that could have it, but does not state when the person authenticated. */
  readonly requiresAuthenticationTime: boolean;
};

/** The person, and what the provider says of them that rules of admission need. */
export type Authentication = {
  readonly person: Person;
  readonly evidence: Evidence;
  /** Absent unless the operator lets the provider's groups fill teams. */
  readonly teamGroups?: StatedGroups;
};

export type IdentityProvider = {
  readonly kind: ProviderKind;
  /** Display name. */
  readonly name: string;
  /** Whether its groups fill teams. */
  readonly fillsTeams: boolean;
  /** The URL to redirect the browser to. Throws "provider-unavailable". */
  begin(request: AuthorizationRequest): Promise<URL>;
  /** Verifies who signed in. `callback` includes the query. Throws "sign-in-refused" or "provider-unavailable". */
  finish(callback: URL, request: AuthorizationRequest): Promise<Authentication>;
  /** Resolves once the provider's endpoints are discovered, or after a timeout. */
  prepare(): Promise<void>;
  /** Origins that the browser is redirected to, as far as they are discovered. */
  origins(): readonly string[];
};

export type IdentityProviders = ReadonlyMap<ProviderKind, IdentityProvider>;

/** Origins for the form-action directive. */
export function listProviderOrigins(providers: IdentityProviders): readonly string[] {
  return [...new Set([...providers.values()].flatMap((provider) => provider.origins()))];
}
