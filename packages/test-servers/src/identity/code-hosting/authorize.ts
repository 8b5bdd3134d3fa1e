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
type Dependencies = {
  readonly applications: Applications;
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
};
type AuthorizationRequest = {
  readonly parameters: URLSearchParams;
  readonly application: CodeHostingApplication;
  readonly redirectUri: string;
};

/** Shows the sign-in page on GET and reads the user's decision from a POST with the same parameters. */
export async function authorize(
  { request, response, url }: Exchange,
  dependencies: Dependencies,
): Promise<void> {
  const isDecision = request.method === "POST";
  const parameters = isDecision ? await readForm(request) : url.searchParams;
  const application = dependencies.applications.find(parameters.get("client_id") ?? "");
  if (application === undefined)
    return show(response, { status: 404, page: "<!doctype html><h1>Not found</h1>" });
  const redirectUri = parameters.get("redirect_uri") ?? application.callbackUrl;
  if (!isAllowedRedirect(application.callbackUrl, redirectUri)) {
    const authorization = { parameters, application, redirectUri: application.callbackUrl };
    return redirect(response, authorization, describeError("redirect_uri_mismatch"));
  }
  const authorization = { parameters, application, redirectUri };
  if (!hasUsablePkce(parameters)) return redirect(response, authorization, describeError("invalid_request"));
  if (!isDecision) return show(response, { status: 200, page: renderPage(authorization) });
  return handleDecision(response, authorization, dependencies);
}

function handleDecision(
  response: ServerResponse,
  authorization: AuthorizationRequest,
  { accounts, grants }: Dependencies,
): void {
  const { parameters, application, redirectUri } = authorization;
  if (parameters.get("decision") !== "allow")
    return redirect(response, authorization, describeError("access_denied"));
  const account = accounts.findByEntry(parameters.get("account") ?? "");
  if (account === undefined) {
    return show(response, { status: 400, page: renderPage(authorization, "There is no such account") });
  }
  const code = grants.issueCode({
    clientId: application.clientId,
    accountId: account.id,
    scopes: grantScopes(parameters.get("scope") ?? ""),
    redirectUri,
    codeChallenge: parameters.get("code_challenge") ?? undefined,
  });
  return redirect(response, authorization, { code });
}

// Both are required together, and "plain" is not supported; GitHub does not document its error.
function hasUsablePkce(parameters: URLSearchParams): boolean {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  return challenge === null ? method === null : method === "S256" && challenge.length === 43;
}

function renderPage({ parameters, application }: AuthorizationRequest, error?: string): string {
  const scopes = grantScopes(parameters.get("scope") ?? "");
  const userInputs = ["account", "decision"];
  return renderSignInPage({
    title: "Sign in and authorize",
    action: authorizePath,
    lines: [
      `${application.clientId} requests: ${scopes.join(", ") || "public information"}`,
      ...(error === undefined ? [] : [error]),
    ],
    hasAccountField: true,
    allowLabel: "Authorize",
    denyLabel: "Cancel",
    hidden: Object.fromEntries([...parameters].filter(([name]) => !userInputs.includes(name))),
  });
}

function show(response: ServerResponse, { status, page }: { status: number; page: string }): void {
  response
    .writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
    .end(page);
}

function redirect(
  response: ServerResponse,
  authorization: AuthorizationRequest,
  result: Readonly<Record<string, string>>,
): void {
  const target = new URL(authorization.redirectUri);
  for (const [name, value] of Object.entries(result)) target.searchParams.set(name, value);
  const state = authorization.parameters.get("state");
  if (state !== null) target.searchParams.set("state", state);
  response.writeHead(302, { location: target.href }).end();
}

type AuthorizationError = "redirect_uri_mismatch" | "access_denied" | "invalid_request";

const descriptions: Readonly<Record<AuthorizationError, string>> = {
  redirect_uri_mismatch: "The redirect_uri MUST match the registered callback URL for this application.",
  access_denied: "The user has denied your application access.",
  invalid_request: "The code_challenge must come with the code_challenge_method S256.",
};

function describeError(error: AuthorizationError): Readonly<Record<string, string>> {
  const page = "/apps/managing-oauth-apps/troubleshooting-authorization-request-errors/";
  const error_uri = `${page}#${error.replaceAll("_", "-")}`;
  return { error, error_description: descriptions[error], error_uri };
}
