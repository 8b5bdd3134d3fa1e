import type { IncomingMessage, ServerResponse } from "node:http";
import { type CodeHostingAccounts, describeUser } from "./accounts.ts";
import type { Grants } from "./grants.ts";
import type { RateLimit } from "./rate-limit.ts";
import { includesScope } from "./scopes.ts";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly url: URL };
type Parts = {
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
  readonly rateLimit: RateLimit;
  readonly hourlyRateLimit: number;
};
type ApiAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

const anonymousHourlyLimit = 60;

/** `GET /user` and `GET /user/emails`, with the refusals and headers that clients of the real one meet. */
export function answerApi({ request, response, url }: Exchange, parts: Parts): void {
  if (request.headers["user-agent"] === undefined) {
    const rule =
      "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
    response.writeHead(403, { "content-type": "text/plain; charset=utf-8" }).end(rule);
    return;
  }
  const { status, body, headers } = answerCaller(`${request.method} ${url.pathname}`, {
    parts,
    origin: url.origin,
    authorization: request.headers.authorization,
  });
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  response.end(JSON.stringify(body));
}

type Call = { readonly parts: Parts; readonly origin: string; readonly authorization: string | undefined };

function answerCaller(route: string, { parts, origin, authorization }: Call): ApiAnswer {
  const { accounts, grants, rateLimit, hourlyRateLimit } = parts;
  // Both words are accepted, and a token in the address is not.
  const token = /^(?:bearer|token) +(\S+)$/i.exec(authorization ?? "")?.[1];
  const grant = token === undefined ? undefined : grants.findToken(token);
  const account = grant && accounts.findById(grant.accountId);
  if (grant === undefined || account === undefined) {
    const { headers } = rateLimit.count("anonymous", anonymousHourlyLimit);
    const message = authorization === undefined ? "Requires authentication" : "Bad credentials";
    return { ...problem(401, message), headers };
  }
  const { isExceeded, headers } = rateLimit.count(String(account.id), hourlyRateLimit);
  const standing = {
    ...headers,
    "x-oauth-scopes": grant.scopes.join(", "),
    "x-oauth-client-id": grant.clientId,
  };
  if (isExceeded) {
    return { ...problem(403, `API rate limit exceeded for user ID ${account.id}.`), headers: standing };
  }
  switch (route) {
    case "GET /user":
      return answered(describeUser(account, origin), { ...standing, "x-accepted-oauth-scopes": "" });
    case "GET /user/emails": {
      const emailHeaders = { ...standing, "x-accepted-oauth-scopes": "user, user:email" };
      // A missing scope looks like a missing page; only the headers tell.
      if (!includesScope(grant.scopes, "user:email"))
        return { ...problem(404, "Not Found"), headers: emailHeaders };
      return answered(account.emails, emailHeaders);
    }
    default:
      return { ...problem(404, "Not Found"), headers: standing };
  }
}

function answered(body: unknown, headers: Readonly<Record<string, string>>): ApiAnswer {
  return { status: 200, body, headers };
}

function problem(status: number, message: string): ApiAnswer {
  return {
    status,
    body: { message, documentation_url: "https://docs.github.com/rest", status: String(status) },
  };
}
