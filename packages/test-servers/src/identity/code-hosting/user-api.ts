import type { IncomingMessage, ServerResponse } from "node:http";
import { type CodeHostingAccounts, describeUser } from "./accounts.ts";
import type { Grants } from "./grants.ts";
import { type ApiResponse, apiError, respondWithMembership } from "./membership-api.ts";
import type { RateLimit } from "./rate-limit.ts";
import { includesScope } from "./scopes.ts";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly url: URL };
type Dependencies = {
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
  readonly rateLimit: RateLimit;
  readonly hourlyRateLimit: number;
  readonly api: CodeHostingApi;
};
/** Replaces the responses of the whole API, as in an outage. */
export type ApiOverride = Pick<ApiResponse, "status" | "headers">;

/** What a test changes and observes. */
export type CodeHostingApi = {
  override: ApiOverride | undefined;
  onRequest: ((route: string) => void) | undefined;
};

const anonymousHourlyLimit = 60;

/** `GET /user`, `GET /user/emails` and memberships, with the errors and headers of GitHub's API. */
export function handleApiRequest({ request, response, url }: Exchange, dependencies: Dependencies): void {
  if (request.headers["user-agent"] === undefined) {
    const rule =
      "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
    response.writeHead(403, { "content-type": "text/plain; charset=utf-8" }).end(rule);
    return;
  }
  const route = `${request.method} ${url.pathname}`;
  dependencies.api.onRequest?.(route);
  const { override } = dependencies.api;
  const { status, body, headers } =
    override === undefined
      ? respond(route, { dependencies, url, authorization: request.headers.authorization })
      : { ...apiError(override.status, "Unavailable"), headers: override.headers };
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}

type ApiRequest = {
  readonly dependencies: Dependencies;
  readonly url: URL;
  readonly authorization: string | undefined;
};

function respond(route: string, { dependencies, url, authorization }: ApiRequest): ApiResponse {
  const { origin, searchParams: query } = url;
  const { accounts, grants, rateLimit, hourlyRateLimit } = dependencies;
  // Both schemes are accepted; a token in the URL is not.
  const token = /^(?:bearer|token) +(\S+)$/i.exec(authorization ?? "")?.[1];
  const grant = token === undefined ? undefined : grants.findToken(token);
  const account = grant && accounts.findById(grant.accountId);
  if (grant === undefined || account === undefined) {
    const { headers } = rateLimit.count("anonymous", anonymousHourlyLimit);
    const message = authorization === undefined ? "Requires authentication" : "Bad credentials";
    return { ...apiError(401, message), headers };
  }
  const { isExceeded, headers } = rateLimit.count(String(account.id), hourlyRateLimit);
  const callerHeaders = {
    ...headers,
    "x-oauth-scopes": grant.scopes.join(", "),
    "x-oauth-client-id": grant.clientId,
  };
  if (isExceeded) {
    return { ...apiError(403, `API rate limit exceeded for user ID ${account.id}.`), headers: callerHeaders };
  }
  switch (route) {
    case "GET /user":
      return ok(describeUser(account, origin), { ...callerHeaders, "x-accepted-oauth-scopes": "" });
    case "GET /user/emails": {
      const emailHeaders = { ...callerHeaders, "x-accepted-oauth-scopes": "user, user:email" };
      // A missing scope gives the same 404 as an unknown path; only the headers differ.
      if (!includesScope(grant.scopes, "user:email"))
        return { ...apiError(404, "Not Found"), headers: emailHeaders };
      return ok(account.emails, emailHeaders);
    }
    default: {
      const { scopes } = grant;
      const request = { route, query, origin, account, scopes, accounts };
      const { headers: ownHeaders, ...answer } = respondWithMembership(request) ?? apiError(404, "Not Found");
      return { ...answer, headers: { ...callerHeaders, ...ownHeaders } };
    }
  }
}

function ok(body: unknown, headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 200, body, headers };
}
