import type { IncomingMessage, ServerResponse } from "node:http";
import { type CodeHostingAccount, type CodeHostingAccounts, describeUser } from "./accounts.ts";
import type { Grants } from "./grants.ts";
import type { RateLimit } from "./rate-limit.ts";
import { includesScope } from "./scopes.ts";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly url: URL };
type Dependencies = {
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
  readonly rateLimit: RateLimit;
  readonly hourlyRateLimit: number;
};
type ApiResponse = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
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
  const { status, body, headers } = respond(`${request.method} ${url.pathname}`, {
    dependencies,
    origin: url.origin,
    authorization: request.headers.authorization,
  });
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}

type ApiRequest = {
  readonly dependencies: Dependencies;
  readonly origin: string;
  readonly authorization: string | undefined;
};

function respond(route: string, { dependencies, origin, authorization }: ApiRequest): ApiResponse {
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
      const membership = respondWithMembership(route, { account, scopes: grant.scopes });
      if (membership !== undefined) return { ...membership, headers: callerHeaders };
      return { ...apiError(404, "Not Found"), headers: callerHeaders };
    }
  }
}

const organizationRoute = /^GET \/user\/memberships\/orgs\/(?<organization>[^/]+)$/u;
const teamRoute =
  /^GET \/orgs\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/memberships\/(?<login>[^/]+)$/u;

/** Names are compared without case, as GitHub does. Undefined for other paths. */
function respondWithMembership(
  route: string,
  { account, scopes }: { readonly account: CodeHostingAccount; readonly scopes: readonly string[] },
): ApiResponse | undefined {
  const groups = (organizationRoute.exec(route) ?? teamRoute.exec(route))?.groups;
  if (groups === undefined) return undefined;
  const { organization = "", team, login } = groups;
  const found = account.memberships?.find(
    (each) =>
      each.organization.toLowerCase() === organization.toLowerCase() &&
      each.team?.toLowerCase() === team?.toLowerCase(),
  );
  if (found?.state === "blocked")
    return apiError(
      403,
      "Although you appear to have the correct authorization credentials, the organization has enabled OAuth App access restrictions.",
    );
  if (!scopes.includes("read:org")) return apiError(403, "You need at least read:org scope.");
  if (found === undefined || (login !== undefined && login !== account.login))
    return apiError(404, "Not Found");
  const { state } = found;
  const body = {
    state,
    role: "member",
    ...(team === undefined ? { organization: { login: found.organization } } : {}),
  };
  return { status: 200, body };
}

function ok(body: unknown, headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 200, body, headers };
}

function apiError(status: number, message: string): ApiResponse {
  return {
    status,
    body: { message, documentation_url: "https://docs.github.com/rest", status: String(status) },
  };
}
