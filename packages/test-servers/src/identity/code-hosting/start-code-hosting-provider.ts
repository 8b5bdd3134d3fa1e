/**
 * @module
 * An OAuth 2 server that behaves like GitHub's, written from its public documentation: token endpoint errors with HTTP
 * 200, form-encoded responses unless JSON is requested, no ID token, numeric user ids, e-mail addresses on a separate
 * endpoint. Accounts and applications come from the test and may change while it runs.
 * Everything is in memory. Imported by the package's index and neighbouring tests.
 */
import { serveOnLoopback } from "../../loopback-server.ts";
import { type SignInInput, walkSignIn } from "../walk-sign-in.ts";
import { type CodeHostingAccount, createAccounts } from "./accounts.ts";
import { type CodeHostingApplication, createApplications } from "./applications.ts";
import { authorize, authorizePath } from "./authorize.ts";
import { exchangeCode, exchangePath } from "./exchange-code.ts";
import { createGrants } from "./grants.ts";
import { createRateLimit } from "./rate-limit.ts";
import { type ApiOverride, type CodeHostingApi, handleApiRequest } from "./user-api.ts";

export type CodeHostingOptions = {
  readonly accounts: readonly CodeHostingAccount[];
  readonly applications?: readonly CodeHostingApplication[];
  /** Ten minutes by default. */
  readonly codeLifetimeSeconds?: number;
  readonly hourlyRateLimit?: number;
  /** GitHub issues no token to a user without a verified primary e-mail address; compatible servers do. */
  readonly allowsUnverifiedEmail?: boolean;
};

export type CodeHostingProvider = AsyncDisposable & {
  readonly origin: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly apiUrl: string;
  putAccount(account: CodeHostingAccount): void;
  removeAccount(id: number): void;
  /** A personal access token. */
  createToken(accountId: number, scopes: readonly string[]): string;
  /** Replaces the responses of the API, or with undefined restores them. */
  overrideApi(override: ApiOverride | undefined): void;
  /** Called with method and path before each request to the API is answered. */
  watchApi(onRequest: ((route: string) => void) | undefined): void;
  registerApplication(application: CodeHostingApplication): void;
  revokeTokensOf(accountId: number): void;
  /** Signs in without a browser; the account is identified by login or e-mail address. */
  signInAs(authorizationUrl: URL | string, input: SignInInput): Promise<URL>;
};

export async function startCodeHostingProvider(options: CodeHostingOptions): Promise<CodeHostingProvider> {
  const accounts = createAccounts(options.accounts);
  const applications = createApplications(options.applications ?? []);
  const grants = createGrants(options.codeLifetimeSeconds ?? 600);
  const api: CodeHostingApi = { override: undefined, onRequest: undefined };
  const dependencies = {
    accounts,
    applications,
    grants,
    rateLimit: createRateLimit(),
    api,
    hourlyRateLimit: options.hourlyRateLimit ?? 5000,
    allowsUnverifiedEmail: options.allowsUnverifiedEmail ?? false,
  };
  const server = await serveOnLoopback((request, response) => {
    const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
    if (url.pathname === authorizePath) return authorize({ request, response, url }, dependencies);
    if (url.pathname === exchangePath && request.method === "POST") {
      return exchangeCode({ request, response, url }, dependencies);
    }
    return handleApiRequest({ request, response, url }, dependencies);
  });
  return {
    origin: server.origin,
    authorizationEndpoint: `${server.origin}${authorizePath}`,
    tokenEndpoint: `${server.origin}${exchangePath}`,
    apiUrl: server.origin,
    putAccount: (account) => accounts.put(account),
    removeAccount: (id) => accounts.remove(id),
    createToken: (accountId, scopes) => grants.issuePersonalToken(accountId, scopes),
    overrideApi: (override) => {
      api.override = override;
    },
    watchApi: (onRequest) => {
      api.onRequest = onRequest;
    },
    registerApplication: (application) => applications.register(application),
    revokeTokensOf: (accountId) => grants.revokeTokensOf(accountId),
    signInAs: walkSignIn,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
