import { FailureError } from "@hearth-and-keep/failures";
import type { BufferedResponse, HttpResponse } from "@hearth-and-keep/http-service";
import { cookiesOf } from "../access/credentials.ts";
import { assertSameOrigin } from "../access/same-origin.ts";
import { readAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import { asRequestFailure, failureFields, problemResponse, refusalText } from "../problems.ts";
import type { KeepRequest } from "../route-row.ts";
import { attemptSeconds, beginSignIn, type SignInRedirect, type SignInRequest } from "./begin-sign-in.ts";
import { finishSignIn } from "./finish-sign-in.ts";
import {
  type Page,
  type PageOptions,
  renderDevelopmentPage,
  renderFailurePage,
  renderSignedInPage,
  renderSignInPage,
} from "./pages.ts";
import { isRandomToken } from "./random-tokens.ts";
import { safeReturnTo } from "./return-to.ts";
import { revokeSessions } from "./revoke-sessions.ts";
import { checkSession } from "./sessions.ts";

export async function handleStartSignIn(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return withErrorPage(request, dependencies, async () => {
    assertSameOrigin(request, dependencies.signIn.publicUrl);
    return redirectToProvider(request, dependencies, { purpose: "sign-in" });
  });
}

export async function handleSignInCallback(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return withErrorPage(request, dependencies, () => completeSignIn(request, dependencies));
}

export async function handleLinkIdentity(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return withErrorPage(request, dependencies, () =>
    redirectToProvider(request, dependencies, { purpose: "link", actor: request.actor }),
  );
}

export async function handleReauthenticate(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return withErrorPage(request, dependencies, () =>
    redirectToProvider(request, dependencies, { purpose: "confirm", actor: request.actor }),
  );
}

export async function handleSignInPage(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { providers, publicUrl } = dependencies.signIn;
  const actor = await findActor(request, dependencies);
  const account = actor === undefined ? undefined : await readAccount(dependencies.database, actor.accountId);
  if (account !== undefined)
    return htmlResponse(renderSignedInPage(account.display_name, pageOptions(dependencies)));
  // Discovery must have run, because the page's form-action policy lists the providers' origins.
  await Promise.all([...providers.values()].map((provider) => provider.prepare()));
  const returnTo = safeReturnTo(readQuery(request)["return_to"], publicUrl);
  return htmlResponse(renderSignInPage(returnTo, pageOptions(dependencies)));
}

/** The page in place of a provider's, for the sign-in without one. */
export async function handleDevelopmentPage(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const state = readQuery(request)["state"];
  const isStarted = dependencies.signIn.isDevelopment && typeof state === "string" && isRandomToken(state);
  if (!isStarted) throw requestFailure({ kind: "not-found" });
  return htmlResponse(renderDevelopmentPage(state, pageOptions(dependencies)));
}

type SignInPurpose = Pick<SignInRequest, "purpose" | "actor">;

async function redirectToProvider(
  request: KeepRequest,
  dependencies: KeepDependencies,
  purpose: SignInPurpose,
): Promise<HttpResponse> {
  const signInRequest: SignInRequest = {
    ...purpose,
    provider: request.parameters["provider"] ?? "",
    returnTo: readQuery(request)["return_to"],
    ...(purpose.purpose === "sign-in" ? { invitation: readQuery(request)["invitation"] } : {}),
  };
  const { location, binder }: SignInRedirect = await beginSignIn(signInRequest, {
    ...dependencies,
    ...dependencies.signIn,
  });
  return redirectTo(
    location.href,
    writeCookie(loginCookie(dependencies), binder, { dependencies, seconds: attemptSeconds }),
  );
}

async function completeSignIn(request: KeepRequest, dependencies: KeepDependencies): Promise<HttpResponse> {
  const userAgent = request.headers["user-agent"];
  const { returnTo, session, skippedGroups } = await finishSignIn(
    {
      provider: request.parameters["provider"] ?? "",
      parameters: toSearchParameters(readQuery(request)),
      binders: cookiesOf(request.headers["cookie"], loginCookie(dependencies)),
      actor: await findActor(request, dependencies),
      client: {
        address: request.clientAddress,
        userAgent: typeof userAgent === "string" ? userAgent : undefined,
      },
    },
    { ...dependencies, ...dependencies.signIn },
  );
  if (skippedGroups !== undefined) request.addLogFields({ skippedGroups });
  // Without the console there is no page at "/".
  const location =
    returnTo === "/" && pageOptions(dependencies).consoleStyle === undefined ? "/sign-in" : returnTo;
  if (session === undefined) return redirectTo(location);
  const seconds = dependencies.signIn.limits.lifetimeHours * 3600;
  return redirectTo(
    location,
    writeCookie(dependencies.signIn.sessionCookie, session.token, { dependencies, seconds }),
  );
}

/** Expires only Keep's own cookie: Clear-Site-Data "cookies" would also delete those of other apps on the domain. */
export async function handleSignOut(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  assertSameOrigin(request, dependencies.signIn.publicUrl);
  const actor = await findActor(request, dependencies);
  if (actor !== undefined) {
    const { accountId, id } = actor;
    await dependencies.database.inAccount(accountId, (transaction) =>
      revokeSessions(transaction, { accountId, by: actor, selector: { only: [id] } }, dependencies),
    );
  }
  const headers = {
    "clear-site-data": '"cache", "storage"',
    "set-cookie": writeCookie(dependencies.signIn.sessionCookie, "", {
      dependencies,
      seconds: 0,
    }),
  };
  const wantsHtml = String(request.headers["accept"] ?? "").includes("text/html");
  return wantsHtml
    ? { status: 303, headers: { ...headers, location: "/sign-in" } }
    : { status: 204, headers };
}

/** The session's actor, without a same-origin check; only for requests that change nothing on the session's behalf. */
export async function findActor(
  { headers, clientAddress: address }: KeepRequest,
  dependencies: KeepDependencies,
): Promise<Actor | undefined> {
  const [text, ...others] = cookiesOf(headers["cookie"], dependencies.signIn.sessionCookie);
  if (text === undefined || others.length > 0) return undefined;
  return checkSession(text, address, { ...dependencies, limits: dependencies.signIn.limits });
}

/**
 * Renders expected failures as a page for browsers. Other clients get a problem document, as do unexpected errors and
 * broken integrity, which the server logs as errors.
 */
async function withErrorPage(
  request: KeepRequest,
  dependencies: KeepDependencies,
  work: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work();
  } catch (error) {
    const wantsHtml = String(request.headers["accept"] ?? "").includes("text/html");
    if (!(error instanceof FailureError) || !wantsHtml) throw error;
    const failure = asRequestFailure(error);
    if (failure.kind === "integrity-broken") throw error;
    request.addLogFields(failureFields(failure));
    const { status, headers } = problemResponse(error, request.requestId);
    // The failure may be in the session lookup itself.
    const actor = await findActor(request, dependencies).catch(() => undefined);
    const content = { message: describeError(error, request), isSignedIn: actor !== undefined };
    const page = htmlResponse(renderFailurePage(content, pageOptions(dependencies)), status);
    const retryAfter = headers?.["retry-after"];
    const retry = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    return { ...page, headers: { ...page.headers, ...retry } };
  }
}

/** Contains no text from the provider or the request. */
function describeError(error: unknown, { requestId }: KeepRequest): string {
  const failure = asRequestFailure(error);
  if (failure.kind === "sign-in-refused") return `${failure.reason}.`;
  if (failure.kind === "not-admitted") return `${refusalText(failure.identity)}.`;
  if (failure.kind === "provider-unavailable") {
    return `${failure.provider} is currently unavailable. Please try again later; nothing was changed.`;
  }
  if (failure.kind === "not-found") return "Unknown sign-in provider.";
  return `Something went wrong. Quote request ID ${requestId} when you contact the operator.`;
}

export function pageOptions({ signIn, console }: Pick<KeepDependencies, "signIn" | "console">): PageOptions {
  const consoleStyle = [...console.files.keys()].find((name) => name.endsWith(".css"));
  const { providers, publicUrl, isDevelopment } = signIn;
  return { providers, publicUrl, isDevelopment, consoleStyle };
}

export function htmlResponse({ html, policy }: Page, status = 200): BufferedResponse {
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      // With "no-referrer", the page's forms would send "Origin: null", which the same-origin check rejects.
      "referrer-policy": "same-origin",
    },
    body: html,
  };
}

export function redirectTo(location: string, cookie?: string): BufferedResponse {
  return { status: 303, headers: { location, ...(cookie === undefined ? {} : { "set-cookie": cookie }) } };
}

function loginCookie({ signIn }: KeepDependencies): string {
  return signIn.publicUrl.protocol === "https:" ? "__Host-login" : "login";
}

type CookieOptions = { readonly dependencies: KeepDependencies; readonly seconds: number };

function writeCookie(name: string, value: string, { dependencies, seconds }: CookieOptions): string {
  const secure = dependencies.signIn.publicUrl.protocol === "https:" ? "; Secure" : "";
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}

/** Routes without a query schema get the query as parsed, unvalidated. */
function readQuery({ query }: KeepRequest): Readonly<Record<string, unknown>> {
  return typeof query === "object" && query !== null ? { ...query } : {};
}

function toSearchParameters(query: Readonly<Record<string, unknown>>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, String(each)]),
    ),
  );
}
