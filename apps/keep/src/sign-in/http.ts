import { FailureError } from "@hearth-and-keep/failures";
import type { BufferedResponse, HttpResponse } from "@hearth-and-keep/http-service";
import { cookiesOf } from "../access/credentials.ts";
import { refuseOtherSites } from "../access/same-origin.ts";
import { readAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import { asRequestFailure, problemResponse } from "../problems.ts";
import type { KeepRequest } from "../route-row.ts";
import { attemptSeconds, type BegunSignIn, beginSignIn, type SignInPlan } from "./begin-sign-in.ts";
import { finishSignIn } from "./finish-sign-in.ts";
import {
  type Page,
  type PageOptions,
  renderFailurePage,
  renderSignedInPage,
  renderSignInPage,
} from "./pages.ts";
import { safeReturnTo } from "./return-to.ts";
import { checkSession, endSessions } from "./sessions.ts";

export async function handleStartSignIn(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  return orPage(call, parts, async () => {
    refuseOtherSites(call, parts.signIn.publicUrl);
    return leave(call, parts, { purpose: "sign-in" });
  });
}

export async function handleSignInCallback(
  call: KeepRequest,
  parts: KeepDependencies,
): Promise<HttpResponse> {
  return orPage(call, parts, () => comeBack(call, parts));
}

export async function handleLinkIdentity(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  return orPage(call, parts, () => leave(call, parts, { purpose: "link", actor: call.actor }));
}

export async function handleReauthenticate(
  call: KeepRequest,
  parts: KeepDependencies,
): Promise<HttpResponse> {
  return orPage(call, parts, () => leave(call, parts, { purpose: "confirm", actor: call.actor }));
}

export async function handleSignInPage(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  const { providers, publicUrl } = parts.signIn;
  const actor = await whoIs(call, parts);
  const account = actor === undefined ? undefined : await readAccount(parts.database, actor.accountId);
  if (account !== undefined) return answerPage(renderSignedInPage(account.display_name, pageParts(parts)));
  // So that the policy of the page names where its forms lead.
  await Promise.all([...providers.values()].map((provider) => provider.prepare()));
  const returnTo = safeReturnTo(readQuery(call)["return_to"], publicUrl);
  return answerPage(renderSignInPage(returnTo, pageParts(parts)));
}

type Reason = Pick<SignInPlan, "purpose" | "actor">;

async function leave(call: KeepRequest, parts: KeepDependencies, reason: Reason): Promise<HttpResponse> {
  const plan: SignInPlan = {
    ...reason,
    provider: call.parameters["provider"] ?? "",
    returnTo: readQuery(call)["return_to"],
  };
  const { location, binder }: BegunSignIn = await beginSignIn(plan, { ...parts, ...parts.signIn });
  return goTo(location.href, writeCookie(loginCookie(parts), binder, { parts, seconds: attemptSeconds }));
}

async function comeBack(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  const userAgent = call.headers["user-agent"];
  const { returnTo, session } = await finishSignIn(
    {
      provider: call.parameters["provider"] ?? "",
      parameters: asParameters(readQuery(call)),
      binders: cookiesOf(call.headers["cookie"], loginCookie(parts)),
      actor: await whoIs(call, parts),
      visitor: {
        address: call.clientAddress,
        userAgent: typeof userAgent === "string" ? userAgent : undefined,
      },
    },
    { ...parts, ...parts.signIn },
  );
  // A program without its console has no first page.
  const place = returnTo === "/" && pageParts(parts).consoleStyle === undefined ? "/sign-in" : returnTo;
  if (session === undefined) return goTo(place);
  const seconds = parts.signIn.limits.lifetimeHours * 3600;
  return goTo(place, writeCookie(parts.signIn.sessionCookie, session.text, { parts, seconds }));
}

/** Cookies of other programs on the same domain are theirs, so this one is taken back by itself. */
export async function handleSignOut(call: KeepRequest, parts: KeepDependencies): Promise<HttpResponse> {
  refuseOtherSites(call, parts.signIn.publicUrl);
  const actor = await whoIs(call, parts);
  if (actor !== undefined) {
    await parts.database.inAccount(actor.accountId, (transaction) =>
      endSessions(transaction, { by: actor, which: { only: actor.id } }, parts),
    );
  }
  const headers = {
    "clear-site-data": '"cache", "storage"',
    "set-cookie": writeCookie(parts.signIn.sessionCookie, "", { parts, seconds: 0 }),
  };
  const wantsPage = String(call.headers["accept"] ?? "").includes("text/html");
  return wantsPage
    ? { status: 303, headers: { ...headers, location: "/sign-in" } }
    : { status: 204, headers };
}

/** Whose session the browser has, without asking where the request comes from: for what changes nothing by itself. */
async function whoIs(
  { headers, clientAddress: address }: KeepRequest,
  parts: KeepDependencies,
): Promise<Actor | undefined> {
  const [text, ...others] = cookiesOf(headers["cookie"], parts.signIn.sessionCookie);
  if (text === undefined || others.length > 0) return undefined;
  return checkSession(text, address, { database: parts.database, limits: parts.signIn.limits });
}

/** A person reads a page and a program a problem document; what nobody expected is answered as everywhere. */
async function orPage(
  call: KeepRequest,
  parts: KeepDependencies,
  work: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    return await work();
  } catch (problem) {
    const isForPeople = String(call.headers["accept"] ?? "").includes("text/html");
    if (!(problem instanceof FailureError) || !isForPeople) throw problem;
    const failure = asRequestFailure(problem);
    call.addLogFields({ failure: failure.kind });
    const { status, headers } = problemResponse(problem, call.requestId);
    // What went wrong may be the very thing that tells who is signed in.
    const actor = await whoIs(call, parts).catch(() => undefined);
    const failed = { message: sentenceFor(problem, call), isSignedIn: actor !== undefined };
    const answer = answerPage(renderFailurePage(failed, pageParts(parts)), status);
    const retryAfter = headers?.["retry-after"];
    const retry = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    return { ...answer, headers: { ...answer.headers, ...retry } };
  }
}

/** In the words of the problem document: nothing that a provider or a caller wrote is in them. */
function sentenceFor(problem: unknown, { requestId }: KeepRequest): string {
  const failure = asRequestFailure(problem);
  if (failure.kind === "sign-in-refused") return `${failure.reason}.`;
  if (failure.kind === "provider-unavailable") {
    return `${failure.provider} does not answer as it should. Try again in a while; nothing has changed here.`;
  }
  if (failure.kind === "not-found") return "There is no such provider here.";
  return `Keep could not do this. The operator finds it in the log as ${requestId}.`;
}

function pageParts({ signIn, console }: KeepDependencies): PageOptions {
  const consoleStyle = [...console.files.keys()].find((name) => name.endsWith(".css"));
  return { providers: signIn.providers, publicUrl: signIn.publicUrl, consoleStyle };
}

function answerPage({ html, policy }: Page, status = 200): BufferedResponse {
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      // A form of a page without a referrer says that it comes from nowhere.
      "referrer-policy": "same-origin",
    },
    body: html,
  };
}

function goTo(location: string, cookie?: string): BufferedResponse {
  return { status: 303, headers: { location, ...(cookie === undefined ? {} : { "set-cookie": cookie }) } };
}

function loginCookie({ signIn }: KeepDependencies): string {
  return signIn.publicUrl.protocol === "https:" ? "__Host-login" : "login";
}

type CookieLife = { readonly parts: KeepDependencies; readonly seconds: number };

function writeCookie(name: string, value: string, { parts, seconds }: CookieLife): string {
  const secure = parts.signIn.publicUrl.protocol === "https:" ? "; Secure" : "";
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}

/** A row without a schema for its query has it as it was parsed. */
function readQuery({ query }: KeepRequest): Readonly<Record<string, unknown>> {
  return typeof query === "object" && query !== null ? { ...query } : {};
}

function asParameters(query: Readonly<Record<string, unknown>>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((each): [string, string] => [name, String(each)]),
    ),
  );
}
