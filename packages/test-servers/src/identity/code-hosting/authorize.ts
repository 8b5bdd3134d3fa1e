import type { IncomingMessage, ServerResponse } from "node:http";
import { readForm } from "../read-form.ts";
import { renderSignInPage } from "../sign-in-page.ts";
import type { CodeHostingAccounts } from "./accounts.ts";
import type { Applications, CodeHostingApplication } from "./applications.ts";
import type { Grants } from "./grants.ts";
import { isAllowedRedirect } from "./redirect-rules.ts";
import { grantScopes } from "./scopes.ts";

export const authorizePath = "/login/oauth/authorize";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly url: URL };
type Parts = {
  readonly applications: Applications;
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
};
type Asked = {
  readonly parameters: URLSearchParams;
  readonly application: CodeHostingApplication;
  readonly redirectUri: string;
};

/** Shows the sign-in page to a GET and takes the person's answer from a POST of the same parameters. */
export async function authorize({ request, response, url }: Exchange, parts: Parts): Promise<void> {
  const isAnswer = request.method === "POST";
  const parameters = isAnswer ? await readForm(request) : url.searchParams;
  const application = parts.applications.find(parameters.get("client_id") ?? "");
  if (application === undefined)
    return show(response, { status: 404, page: "<!doctype html><h1>Not found</h1>" });
  const redirectUri = parameters.get("redirect_uri") ?? application.callbackUrl;
  if (!isAllowedRedirect(application.callbackUrl, redirectUri)) {
    const asked = { parameters, application, redirectUri: application.callbackUrl };
    return sendBack(response, asked, describeProblem("redirect_uri_mismatch"));
  }
  const asked = { parameters, application, redirectUri };
  if (!hasUsablePkce(parameters)) return sendBack(response, asked, describeProblem("invalid_request"));
  if (!isAnswer) return show(response, { status: 200, page: renderPage(asked) });
  return takeAnswer(response, asked, parts);
}

function takeAnswer(response: ServerResponse, asked: Asked, { accounts, grants }: Parts): void {
  const { parameters, application, redirectUri } = asked;
  if (parameters.get("decision") !== "allow")
    return sendBack(response, asked, describeProblem("access_denied"));
  const account = accounts.findByEntry(parameters.get("account") ?? "");
  if (account === undefined) {
    return show(response, { status: 400, page: renderPage(asked, "There is no such account") });
  }
  const code = grants.issueCode({
    clientId: application.clientId,
    accountId: account.id,
    scopes: grantScopes(parameters.get("scope") ?? ""),
    redirectUri,
    codeChallenge: parameters.get("code_challenge") ?? undefined,
  });
  return sendBack(response, asked, { code });
}

// The two belong together, and "plain" is not supported; how the real one says so is not documented.
function hasUsablePkce(parameters: URLSearchParams): boolean {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  return challenge === null ? method === null : method === "S256" && challenge.length === 43;
}

function renderPage({ parameters, application }: Asked, problem?: string): string {
  const scopes = grantScopes(parameters.get("scope") ?? "");
  const answered = ["account", "decision"];
  return renderSignInPage({
    title: "Sign in and authorize",
    action: authorizePath,
    lines: [
      `${application.clientId} asks for: ${scopes.join(", ") || "public information"}`,
      ...(problem === undefined ? [] : [problem]),
    ],
    asksAccount: true,
    allowLabel: "Authorize",
    denyLabel: "Cancel",
    hidden: Object.fromEntries([...parameters].filter(([name]) => !answered.includes(name))),
  });
}

function show(response: ServerResponse, { status, page }: { status: number; page: string }): void {
  response
    .writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
    .end(page);
}

function sendBack(response: ServerResponse, asked: Asked, result: Readonly<Record<string, string>>): void {
  const target = new URL(asked.redirectUri);
  for (const [name, value] of Object.entries(result)) target.searchParams.set(name, value);
  const state = asked.parameters.get("state");
  if (state !== null) target.searchParams.set("state", state);
  response.writeHead(302, { location: target.href }).end();
}

type AuthorizationProblem = "redirect_uri_mismatch" | "access_denied" | "invalid_request";

const descriptions: Readonly<Record<AuthorizationProblem, string>> = {
  redirect_uri_mismatch: "The redirect_uri MUST match the registered callback URL for this application.",
  access_denied: "The user has denied your application access.",
  invalid_request: "The code_challenge must come with the code_challenge_method S256.",
};

function describeProblem(error: AuthorizationProblem): Readonly<Record<string, string>> {
  const page = "/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/";
  const error_uri = `${page}#${error.replaceAll("_", "-")}`;
  return { error, error_description: descriptions[error], error_uri };
}
