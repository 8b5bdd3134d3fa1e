/**
 * @module
 * Sign-in: the two identity providers, the sign-in flow, sessions, and script-free HTML pages. Guarantees that the
 * callback arrives in the browser that started the sign-in, that each attempt is used once, and that a provider's
 * errors and outages do not affect existing sessions.
 * Imported by `routes.ts`, `commands/`, and `accounts/`, which revokes sessions.
 */
import type { Outbound } from "@hearth-and-keep/outbound-http";
import type { ServeConfig } from "../config.ts";
import { createCodeHostingProvider } from "./code-hosting-provider.ts";
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
  | "allowedCodeHostingOrgs"
  | "allowedGroups"
  | "groupsClaim"
  | "groupsScope"
>;

/** For rules of admission, unless the setting names another one. */
const defaultGroupsClaim = "groups";

/** The providers with a configured client id, in display order. */
export async function createIdentityProviders(
  config: SignInConfig,
  openOutbound: (privateHosts: readonly string[]) => Pick<Outbound, "request">,
): Promise<IdentityProviders> {
  const providers: IdentityProvider[] = [];
  if (config.codeHostingClientId !== undefined) {
    const { base, api } = readCodeHostingAddresses(config);
    providers.push(
      createCodeHostingProvider({
        name: config.codeHostingName,
        base,
        api,
        clientId: config.codeHostingClientId,
        clientSecret: config.codeHostingClientSecret?.reveal() ?? "",
        organizations: config.allowedCodeHostingOrgs.map((each) => each.toLowerCase()),
        outbound: openOutbound([base.host, api.host]),
      }),
    );
  }
  if (config.generalClientId !== undefined) {
    const issuer = readProviderAddress("generalIssuer", config.generalIssuer);
    const fillsTeams = config.groupsClaim !== undefined;
    // Its library is loaded only where it is used: it takes some megabytes.
    const { createGeneralProvider } = await import("./general-provider.ts");
    providers.push(
      createGeneralProvider({
        name: config.generalName,
        issuer,
        clientId: config.generalClientId,
        clientSecret: config.generalClientSecret?.reveal(),
        groups: {
          claim: config.groupsClaim ?? defaultGroupsClaim,
          scope: fillsTeams || config.allowedGroups.length > 0 ? config.groupsScope : undefined,
          fillsTeams,
        },
        outbound: openOutbound([issuer.host]),
      }),
    );
  }
  return new Map(providers.map((provider) => [provider.kind, provider]));
}

/** The code-hosting provider's pages and its API. */
export function readCodeHostingAddresses({
  codeHostingUrl,
  codeHostingApiUrl,
}: Pick<ServeConfig, "codeHostingUrl" | "codeHostingApiUrl">): { readonly base: URL; readonly api: URL } {
  const base = readProviderAddress("codeHostingUrl", codeHostingUrl);
  return { base, api: readProviderAddress("codeHostingApiUrl", codeHostingApiUrl ?? defaultApiUrl(base)) };
}

function defaultApiUrl(base: URL): string {
  return base.host === "github.com" ? "https://api.github.com" : `${base.href.replace(/\/+$/u, "")}/api/v3`;
}
