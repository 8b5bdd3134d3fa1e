/**
 * @module
 * The page that the link of an invitation opens. Guarantees that it says nothing of an organisation without a valid code,
 * and that opening it uses nothing up.
 * Imported by `routes.ts`.
 */
import type { HttpResponse } from "@hearth-and-keep/http-service";
import { assertSameOrigin } from "../../access/same-origin.ts";
import { readAccount } from "../../accounts/queries.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { asRequestFailure } from "../../problems.ts";
import type { KeepRequest } from "../../route-row.ts";
import { findActor, htmlResponse, pageOptions, redirectTo } from "../../sign-in/http.ts";
import { renderInvalidInvitationPage, renderInvitationPage } from "../../sign-in/pages.ts";
import { acceptInvitation, readInvitation } from "../accept-invitation.ts";
import { invitationPath } from "../invitation-code.ts";

/** What the link offers, with a button to join, or to sign in first. */
export async function handleInvitationPage(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const code = request.parameters["code"] ?? "";
  const offer = await readInvitation(code, dependencies);
  if (offer === undefined) return invalidPage(request, dependencies);
  const actor = await findActor(request, dependencies);
  const account = actor === undefined ? undefined : await readAccount(dependencies.database, actor.accountId);
  // Discovery must have run, because the page's form-action policy lists the providers' origins.
  await Promise.all([...dependencies.signIn.providers.values()].map((provider) => provider.prepare()));
  const content = { ...offer, code, displayName: account?.display_name };
  return htmlResponse(renderInvitationPage(content, pageOptions(dependencies)));
}

export async function handleJoin(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  assertSameOrigin(request, dependencies.signIn.publicUrl);
  const code = request.parameters["code"] ?? "";
  const actor = await findActor(request, dependencies);
  if (actor === undefined) {
    const offer = await readInvitation(code, dependencies);
    return offer === undefined ? invalidPage(request, dependencies) : redirectTo(invitationPath(code));
  }
  try {
    await acceptInvitation(actor, code, dependencies);
  } catch (error) {
    if (asRequestFailure(error).kind === "not-found") return invalidPage(request, dependencies);
    throw error;
  }
  return redirectTo(pageOptions(dependencies).consoleStyle === undefined ? "/sign-in" : "/");
}

/** A problem document for clients other than browsers. */
function invalidPage({ headers }: KeepRequest, dependencies: KeepDependencies): HttpResponse {
  const wantsHtml = String(headers["accept"] ?? "").includes("text/html");
  if (!wantsHtml) throw requestFailure({ kind: "not-found" });
  return htmlResponse(renderInvalidInvitationPage(pageOptions(dependencies)), 404);
}
