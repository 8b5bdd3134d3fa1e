import { FailureError } from "@hearth-and-keep/failures";
import type { Person } from "../accounts/person.ts";
import type { ServeConfig } from "../config.ts";
import type { Database } from "../database/open-database.ts";
import { type Failure, requestFailure } from "../failures.ts";
import type { IdentityProvider, IdentityProviders } from "./identity-provider.ts";
import { isLoopback } from "./provider-address.ts";
import { hasOtherIssuer } from "./queries.ts";
import { sanitizeDisplayText } from "./sanitize-display-name.ts";

/** No provider can have it, because issuers of providers are http or https URLs. */
const issuer = "urn:keep:development";
export const maxNameCharacters = 100;
/** Keep's own page in place of a provider's. */
const developmentPath = "/auth/development";

/** Signs in whoever types a name. For trying Keep out; `assertDevelopmentAllowed` limits it to this machine. */
export function createDevelopmentProviders(): IdentityProviders {
  const provider: IdentityProvider = {
    kind: "general",
    name: "development sign-in",
    fillsTeams: false,
    prepare: () => Promise.resolve(),
    origins: () => [],
    begin({ state, redirectUri }) {
      const page = new URL(developmentPath, redirectUri);
      page.search = new URLSearchParams({ state }).toString();
      return Promise.resolve(page);
    },
    finish: ({ searchParams }) =>
      Promise.resolve({
        person: readPerson(searchParams),
        evidence: { verifiedEmails: [], organizations: [], groups: [] },
      }),
  };
  return new Map([[provider.kind, provider]]);
}

function readPerson(parameters: URLSearchParams): Person {
  const [name, ...others] = parameters.getAll("name");
  const displayName = sanitizeDisplayText(name, maxNameCharacters)?.normalize("NFC");
  if (displayName === undefined || others.length > 0)
    throw requestFailure({ kind: "sign-in-refused", reason: "Enter a name to sign in with" });
  return { provider: "general", issuer, subject: displayName.toLowerCase(), displayName };
}

type DevelopmentConfig = Pick<
  ServeConfig,
  "trustedProxies" | "admission" | "operators" | "codeHostingClientId" | "generalClientId"
>;

/** Throws where others than the people of this machine could sign in, or where a setting says that this is no trial. */
export function assertDevelopmentAllowed(config: DevelopmentConfig, addresses: readonly URL[]): void {
  if (!addresses.every(isLoopback))
    refuse("it signs in everyone, so KEEP_HOST and KEEP_PUBLIC_URL must be addresses of this machine");
  if (config.trustedProxies.length > 0)
    refuse("it signs in everyone, so there must be no KEEP_TRUSTED_PROXIES");
  if (config.codeHostingClientId !== undefined || config.generalClientId !== undefined)
    refuse("it replaces identity providers, but one is configured");
  if (config.admission !== "open" || config.operators.length > 0)
    refuse("it signs in everyone, but KEEP_ADMISSION or KEEP_OPERATORS limits who may sign in");
}

/** Throws if people of a real provider use this database. */
export async function assertDevelopmentDatabase(database: Pick<Database, "query">): Promise<void> {
  if (!(await hasOtherIssuer(database, issuer))) return;
  const reason = "this database has accounts of people who signed in with a provider; use an empty one";
  refuse(reason);
}

function refuse(reason: string): never {
  throw new FailureError<Failure>({ kind: "development-refused", reason });
}
