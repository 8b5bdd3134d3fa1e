/**
 * @module
 * Signing in: the two identity providers, a sign-in from its first click to the session, sessions themselves, and the
 * pages that need no script. Promises that a person is who the provider says and the browser that comes back is the
 * one that left; that a sign-in is used once; and that no provider's mistake or outage touches a session that exists.
 * Imported by `routes.ts`, `commands/` and `accounts/`, which ends sessions.
 */
import type { Outbound } from "@hearth-and-keep/outbound-http";
import type { ServeConfig } from "../config.ts";
import { createCodeHostingProvider } from "./code-hosting-provider.ts";
import { createGeneralProvider } from "./general-provider.ts";
import type { IdentityProvider, IdentityProviders } from "./identity-provider.ts";
import { readProviderAddress } from "./provider-address.ts";

type SignInConfig = Pick<
  ServeConfig,
  | "codeHostingName"
  | "codeHostingUrl"
  | "codeHostingApiUrl"
  | "codeHostingClientId"
  | "codeHostingClientSecret"
  | "generalName"
  | "generalIssuer"
  | "generalClientId"
  | "generalClientSecret"
>;

/** Those that a client id is set for, in the order in which they are offered. */
export function createIdentityProviders(
  config: SignInConfig,
  openOutbound: (privateHosts: readonly string[]) => Pick<Outbound, "request">,
): IdentityProviders {
  const found: IdentityProvider[] = [];
  if (config.codeHostingClientId !== undefined) {
    const base = readProviderAddress("codeHostingUrl", config.codeHostingUrl);
    const api = readProviderAddress("codeHostingApiUrl", config.codeHostingApiUrl ?? usualApi(base));
    found.push(
      createCodeHostingProvider({
        name: config.codeHostingName,
        base,
        api,
        clientId: config.codeHostingClientId,
        clientSecret: config.codeHostingClientSecret?.reveal() ?? "",
        outbound: openOutbound([base.host, api.host]),
      }),
    );
  }
  if (config.generalClientId !== undefined) {
    const issuer = readProviderAddress("generalIssuer", config.generalIssuer);
    found.push(
      createGeneralProvider({
        name: config.generalName,
        issuer,
        clientId: config.generalClientId,
        clientSecret: config.generalClientSecret?.reveal(),
        outbound: openOutbound([issuer.host]),
      }),
    );
  }
  return new Map(found.map((provider) => [provider.kind, provider]));
}

function usualApi(base: URL): string {
  return base.host === "github.com" ? "https://api.github.com" : `${base.href.replace(/\/+$/u, "")}/api/v3`;
}
