/**
 * @module
 * Logins of command lines: a person approves in a browser that a program gets a token of theirs, either by a redirect to
 * the program's port with a one-time code (RFC 8252, RFC 7636), or by a code that they compare (RFC 8628). Guarantees that
 * only a recent sign-in approves, from Keep's own page and in the session that the page was shown to, that a code works
 * once, and that browsers are redirected to 127.0.0.1 only.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import {
  type AuthorizeQuery,
  type authorizeDecision,
  type authorizeQuery,
  codeGrant,
  type DeviceLogin,
  type deviceDecision,
  type deviceQuery,
  type LoginToken,
  type loginExchange,
  type newDeviceLogin,
} from "@hearth-and-keep/vault-contract";
import { freshMillisecondsLeft } from "../access/authenticate.ts";
import { assertSameOrigin } from "../access/same-origin.ts";
import { readAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { listMemberships } from "../organisations/find-membership.ts";
import type { BodyRequest, KeepRequest, QueryRequest } from "../route-row.ts";
import { findActor, htmlResponse, pageOptions, redirectTo } from "../sign-in/http.ts";
import { exchangeCode, exchangeDeviceCode, type FinishedLogin, pollSeconds } from "./finish-login.ts";
import { type ApprovalPage, renderApprovalPage, renderDecidedPage, renderUserCodePage } from "./pages.ts";
import type { Decision } from "./queries.ts";
import {
  decideDeviceLogin,
  deviceSeconds,
  findDeviceLogin,
  issueCode,
  mayLogInTo,
  startDeviceLogin,
} from "./start-login.ts";
import { normalizeUserCode } from "./user-code.ts";

const devicePath = "/login/device";
const authorizePath = "/login/authorize";

export async function handleAuthorizePage(
  request: QueryRequest<typeof authorizeQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const actor = await findActor(request, dependencies);
  const path = pathOfRequest(request.query);
  if (actor === undefined) return signInFirst(path);
  return authorizePage(actor, { request, asked: request.query, path, dependencies });
}

export async function handleAuthorize(
  request: BodyRequest<typeof authorizeDecision>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  assertSameOrigin(request, dependencies.signIn.publicUrl);
  const { signed_in: signedIn, account, decision, ...asked } = request.body;
  const path = pathOfRequest(asked);
  const actor = await findActor(request, dependencies);
  if (actor === undefined) return signInFirst(path);
  // Shown again, to the person who is signed in now.
  if (!mayDecide(actor, signedIn)) return authorizePage(actor, { request, asked, path, dependencies });
  const target = new URL(`http://127.0.0.1:${asked.port}/`);
  target.searchParams.set("state", asked.state);
  if (decision === "deny") target.searchParams.set("error", "access_denied");
  else {
    const decided = await readDecision(actor, { decision, account }, dependencies);
    const code = await issueCode({ ...asked, address: request.clientAddress }, decided, dependencies);
    target.searchParams.set("code", code);
  }
  return redirectTo(target.href);
}

export async function handleDevicePage(
  request: QueryRequest<typeof deviceQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const userCode = request.query.user_code;
  const actor = await findActor(request, dependencies);
  if (actor === undefined) return signInFirst(devicePathWith(userCode));
  if (userCode === undefined) return htmlResponse(renderUserCodePage(false, pageOptions(dependencies)));
  return devicePage(actor, userCode, dependencies);
}

export async function handleDecideDevice(
  request: BodyRequest<typeof deviceDecision>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  assertSameOrigin(request, dependencies.signIn.publicUrl);
  const { user_code: userCode, signed_in: signedIn, account, decision } = request.body;
  const actor = await findActor(request, dependencies);
  if (actor === undefined) return signInFirst(devicePathWith(userCode));
  if (!mayDecide(actor, signedIn)) return devicePage(actor, userCode, dependencies);
  const login = await findDeviceLogin(userCode, dependencies);
  const decided = await readDecision(actor, { decision, account }, dependencies);
  const { clientAddress: address } = request;
  const isDecided =
    login !== undefined && (await decideDeviceLogin(login, { ...decided, address }, dependencies));
  const options = pageOptions(dependencies);
  return isDecided
    ? htmlResponse(renderDecidedPage(decision === "approve", options))
    : htmlResponse(renderUserCodePage(true, options), 404);
}

export async function handleStartDeviceLogin(
  { body, clientAddress }: BodyRequest<typeof newDeviceLogin>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { machine, permission } = body;
  const started = await startDeviceLogin({ machine, permission, address: clientAddress }, dependencies);
  const page = new URL(devicePath, dependencies.signIn.publicUrl);
  const complete = new URL(devicePathWith(started.userCode), page);
  const response: DeviceLogin = {
    device_code: started.deviceCode,
    user_code: started.userCode,
    verification_uri: page.href,
    verification_uri_complete: complete.href,
    expires_in: deviceSeconds,
    interval: pollSeconds,
  };
  return jsonResponse(response);
}

export async function handleFinishLogin(
  { body }: BodyRequest<typeof loginExchange>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const finished =
    body.grant_type === codeGrant
      ? await exchangeCode(body.code, body.code_verifier, dependencies)
      : await exchangeDeviceCode(body.device_code, dependencies);
  return jsonResponse(describeLogin(finished));
}

function describeLogin({ token, value, lifetimeSeconds, account, personName }: FinishedLogin): LoginToken {
  return {
    access_token: value,
    token_type: "Bearer",
    expires_in: lifetimeSeconds,
    scope: token.scopes.join(" "),
    account,
    person: personName,
  };
}

/** A page that another person left open must not approve in the name of whoever is signed in now. */
function mayDecide(actor: Actor, signedIn: string): boolean {
  return signedIn === actor.accountId && freshMillisecondsLeft(actor) >= 0;
}

async function readDecision(
  actor: Actor,
  { decision, account }: { readonly decision: Decision["decision"]; readonly account: string },
  dependencies: KeepDependencies,
): Promise<Decision> {
  if (!(await mayLogInTo(account, actor, dependencies))) throw requestFailure({ kind: "not-found" });
  return { decision, accountId: account, personId: actor.accountId, sessionId: actor.id };
}

type AuthorizeContext = {
  readonly request: KeepRequest;
  readonly asked: AuthorizeQuery;
  readonly path: string;
  readonly dependencies: KeepDependencies;
};

async function authorizePage(
  actor: Actor,
  { request, asked, path, dependencies }: AuthorizeContext,
): Promise<HttpResponse> {
  const { port, state, code_challenge, machine, permission } = asked;
  const content = {
    machine,
    permission,
    address: request.clientAddress,
    userCode: undefined,
    path,
    action: authorizePath,
    fields: { port, state, code_challenge, machine, permission },
    formTarget: `http://127.0.0.1:${port}`,
  };
  return approvalPage(actor, content, dependencies);
}

async function devicePage(
  actor: Actor,
  userCode: string,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const login = await findDeviceLogin(userCode, dependencies);
  if (login === undefined) return htmlResponse(renderUserCodePage(true, pageOptions(dependencies)), 404);
  const { machine, permission, address } = login;
  const shown = normalizeUserCode(userCode);
  const content = {
    machine,
    permission,
    address,
    userCode: shown,
    path: devicePathWith(shown),
    action: devicePath,
    fields: { user_code: shown },
  };
  return approvalPage(actor, content, dependencies);
}

async function approvalPage(
  actor: Actor,
  content: Omit<ApprovalPage, "displayName" | "accounts" | "isFresh">,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const [account, memberships] = await Promise.all([
    readAccount(dependencies.database, actor.accountId),
    listMemberships(actor.accountId, dependencies),
    // Discovery must have run, because the page's form-action policy lists the providers' origins.
    ...[...dependencies.signIn.providers.values()].map((provider) => provider.prepare()),
  ]);
  const displayName = account?.display_name ?? "";
  const own = { id: actor.accountId, name: `${displayName} (personal)` };
  const fields = { ...content.fields, signed_in: actor.accountId };
  const person = { displayName, accounts: [own, ...memberships], isFresh: freshMillisecondsLeft(actor) >= 0 };
  return htmlResponse(renderApprovalPage({ ...content, ...person, fields }, pageOptions(dependencies)));
}

function pathOfRequest({ port, state, code_challenge, machine, permission }: AuthorizeQuery): string {
  const query = new URLSearchParams({ port, state, code_challenge, machine, permission });
  return `${authorizePath}?${query.toString()}`;
}

function devicePathWith(userCode: string | undefined): string {
  return userCode === undefined ? devicePath : `${devicePath}?user_code=${normalizeUserCode(userCode)}`;
}

function signInFirst(path: string): HttpResponse {
  return redirectTo(`/sign-in?return_to=${encodeURIComponent(path)}`);
}
