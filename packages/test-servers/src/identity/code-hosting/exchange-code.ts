import type { IncomingMessage, ServerResponse } from "node:http";
import { readForm } from "../read-form.ts";
import { type CodeHostingAccounts, hasVerifiedPrimaryEmail } from "./accounts.ts";
import type { Applications } from "./applications.ts";
import { type Authorization, type Grants, provesChallenge } from "./grants.ts";

export const exchangePath = "/login/oauth/access_token";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly url: URL };
type Dependencies = {
  readonly applications: Applications;
  readonly accounts: CodeHostingAccounts;
  readonly grants: Grants;
  readonly allowsUnverifiedEmail: boolean;
};
type TokenResponse = Readonly<Record<string, string>>;

/** Always responds with 200: an error is a member of the body, in the format that the Accept header requests. */
export async function exchangeCode(
  { request, response, url }: Exchange,
  dependencies: Dependencies,
): Promise<void> {
  const parameters = new URLSearchParams([...url.searchParams, ...(await readForm(request))]);
  const body = redeem(parameters, dependencies);
  if (request.headers.accept?.includes("application/json") === true) {
    response.setHeader("content-type", "application/json; charset=utf-8");
    response.end(JSON.stringify(body));
    return;
  }
  response.setHeader("content-type", "application/x-www-form-urlencoded; charset=utf-8");
  response.end(new URLSearchParams(body).toString());
}

function redeem(
  parameters: URLSearchParams,
  { applications, accounts, grants, allowsUnverifiedEmail }: Dependencies,
): TokenResponse {
  const read = (name: string): string => parameters.get(name) ?? "";
  const application = applications.find(read("client_id"));
  if (application === undefined || application.clientSecret !== read("client_secret")) {
    return errors.incorrect_client_credentials;
  }
  const authorization = grants.findCode(read("code"));
  if (authorization === undefined || authorization.clientId !== application.clientId) {
    return errors.bad_verification_code;
  }
  if (parameters.has("redirect_uri") && read("redirect_uri") !== authorization.redirectUri) {
    return errors.redirect_uri_mismatch;
  }
  if (!isProven(authorization, read("code_verifier"))) return errors.bad_verification_code;
  const account = accounts.findById(authorization.accountId);
  if (account === undefined) return errors.bad_verification_code;
  if (!allowsUnverifiedEmail && !hasVerifiedPrimaryEmail(account)) return errors.unverified_user_email;
  const access_token = grants.issueToken(read("code"), authorization);
  return { access_token, scope: authorization.scopes.join(","), token_type: "bearer" };
}

function isProven({ codeChallenge }: Authorization, codeVerifier: string): boolean {
  return codeChallenge === undefined || provesChallenge(codeChallenge, codeVerifier);
}

const troubleshooting = "/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/";

const errors = {
  incorrect_client_credentials: {
    error: "incorrect_client_credentials",
    error_description: "The client_id and/or client_secret passed are incorrect.",
    error_uri: `${troubleshooting}#incorrect-client-credentials`,
  },
  bad_verification_code: {
    error: "bad_verification_code",
    error_description: "The code passed is incorrect or expired.",
    error_uri: `${troubleshooting}#bad-verification-code`,
  },
  redirect_uri_mismatch: {
    error: "redirect_uri_mismatch",
    error_description: "The redirect_uri MUST match the registered callback URL for this application.",
    error_uri: `${troubleshooting}#redirect-uri-mismatch2`,
  },
  unverified_user_email: {
    error: "unverified_user_email",
    error_description: "The user must have a verified primary email.",
    error_uri: `${troubleshooting}#unverified_user_email`,
  },
};
