import type { Person } from "../accounts/person.ts";

const providerKinds = ["code-hosting", "general"] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** What only the browser that left and the server know of one sign-in. */
export type SignInSecrets = { readonly state: string; readonly nonce: string; readonly verifier: string };

export type Departure = SignInSecrets & {
  readonly redirectUri: string;
  /** The provider should ask the person again, and not take them from its own session. */
  readonly mustAskAgain: boolean;
};

export type IdentityProvider = {
  readonly kind: ProviderKind;
  /** As people know it. */
  readonly name: string;
  /** Where the browser goes. Throws "provider-unavailable". */
  begin(departure: Departure): Promise<URL>;
  /** Who came back. The address is the whole callback. Throws "sign-in-refused" or "provider-unavailable". */
  finish(callback: URL, departure: Departure): Promise<Person>;
  /** Settles when it is known where browsers go, or after a short while. */
  prepare(): Promise<void>;
  /** Where browsers go, as far as it is known. */
  origins(): readonly string[];
};

export type IdentityProviders = ReadonlyMap<ProviderKind, IdentityProvider>;

/** Everywhere that a form may lead a browser to. */
export function originsOf(providers: IdentityProviders): readonly string[] {
  return [...new Set([...providers.values()].flatMap((provider) => provider.origins()))];
}
