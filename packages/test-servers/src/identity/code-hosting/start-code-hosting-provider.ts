/**
 * @module
 * An OAuth 2 server with the habits of GitHub's, written from its public documentation: errors of the token endpoint
 * with HTTP 200, answers as a form unless JSON is asked for, no ID token, people known by a number, addresses on a
 * page of their own. Accounts and applications come from the test and may change while it runs.
 * Nothing is kept when its scope ends. Imported by the package's index and tests beside it.
 */
import { serveOnLoopback } from "../../loopback-server.ts";
import { type SignInAnswer, walkSignIn } from "../walk-sign-in.ts";
import { type CodeHostingAccount, keepAccounts } from "./accounts.ts";
import { type CodeHostingApplication, keepApplications } from "./applications.ts";
import { authorize, authorizePath } from "./authorize.ts";
import { exchangeCode, exchangePath } from "./exchange-code.ts";
import { keepGrants } from "./grants.ts";
import { keepRateLimit } from "./rate-limit.ts";
import { answerApi } from "./user-api.ts";

export type CodeHostingOptions = {
  readonly accounts: readonly CodeHostingAccount[];
  readonly applications?: readonly CodeHostingApplication[];
  /** Ten minutes unless a test is in a hurry. */
  readonly codeLifetimeSeconds?: number;
  readonly hourlyRateLimit?: number;
  /** The real one gives no token to a person without a verified primary address; its lookalikes do. */
  readonly allowsUnverifiedEmail?: boolean;
};

export type CodeHostingProvider = AsyncDisposable & {
  readonly origin: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly apiUrl: string;
  putAccount(account: CodeHostingAccount): void;
  registerApplication(application: CodeHostingApplication): void;
  revokeTokensOf(accountId: number): void;
  /** Signs in without a browser; the account is named by login or address. */
  signInAs(authorizationUrl: URL | string, answer: SignInAnswer): Promise<URL>;
};

export async function startCodeHostingProvider(options: CodeHostingOptions): Promise<CodeHostingProvider> {
  const accounts = keepAccounts(options.accounts);
  const applications = keepApplications(options.applications ?? []);
  const grants = keepGrants(options.codeLifetimeSeconds ?? 600);
  const parts = {
    accounts,
    applications,
    grants,
    rateLimit: keepRateLimit(),
    hourlyRateLimit: options.hourlyRateLimit ?? 5000,
    allowsUnverifiedEmail: options.allowsUnverifiedEmail ?? false,
  };
  const server = await serveOnLoopback((request, response) => {
    const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
    if (url.pathname === authorizePath) return authorize({ request, response, url }, parts);
    if (url.pathname === exchangePath && request.method === "POST") {
      return exchangeCode({ request, response, url }, parts);
    }
    return answerApi({ request, response, url }, parts);
  });
  return {
    origin: server.origin,
    authorizationEndpoint: `${server.origin}${authorizePath}`,
    tokenEndpoint: `${server.origin}${exchangePath}`,
    apiUrl: server.origin,
    putAccount: (account) => accounts.put(account),
    registerApplication: (application) => applications.register(application),
    revokeTokensOf: (accountId) => grants.revokeTokensOf(accountId),
    signInAs: walkSignIn,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
