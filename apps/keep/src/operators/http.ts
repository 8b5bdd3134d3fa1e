import { type HttpResponse, jsonResponse, type MultipartForm } from "@hearth-and-keep/http-service";
import type { OperatorAccount, operatorAccountQuery, revocationQuery } from "@hearth-and-keep/vault-contract";
import { readId } from "../access/read-change.ts";
import { assertSameOrigin } from "../access/same-origin.ts";
import { readAccount } from "../accounts/queries.ts";
import type { Actor } from "../authorization/actor.ts";
import type { KeepDependencies } from "../dependencies.ts";
import type { KeepRequest, QueryRequest } from "../route-row.ts";
import { findActor, htmlResponse, pageOptions, redirectTo } from "../sign-in/http.ts";
import { renderOperatorChosenPage, renderOperatorPage } from "../sign-in/pages.ts";
import { useOperatorCode } from "./first-operator.ts";
import { type AccountChangeRequest, getManagedAccount, manageAccount } from "./manage-account.ts";
import { listAccounts, type ManagedAccount } from "./queries.ts";

const defaultPageItems = 100;
const maxCodeCharacters = 64;

export async function handleListAccounts(
  { query }: QueryRequest<typeof operatorAccountQuery>,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  const limit = Number(query.limit ?? defaultPageItems);
  const status = query.status === "suspended" ? "disabled" : (query.status ?? null);
  const rows = await listAccounts(database, { after: query.cursor ?? null, status, limit: limit + 1 });
  const items = rows.slice(0, limit).map(describeAccount);
  return jsonResponse({ items, ...(rows.length > limit ? { next_cursor: items.at(-1)?.id } : {}) });
}

export async function handleGetAnyAccount(
  { parameters }: KeepRequest,
  { database }: KeepDependencies,
): Promise<HttpResponse> {
  return jsonResponse(describeAccount(await getManagedAccount(database, readId(parameters["account"]))));
}

export function handleSuspendAccount(
  request: QueryRequest<typeof revocationQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return changeAccount(request, dependencies, "suspended");
}

export function handleResumeAccount(
  request: QueryRequest<typeof revocationQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  return changeAccount(request, dependencies, "resumed");
}

async function changeAccount(
  { actor, parameters, query }: QueryRequest<typeof revocationQuery>,
  dependencies: KeepDependencies,
  change: AccountChangeRequest["change"],
): Promise<HttpResponse> {
  const request = { accountId: readId(parameters["account"]), change, waitsForAll: query.wait === "all" };
  return jsonResponse(describeAccount(await manageAccount(actor, request, dependencies)));
}

function describeAccount({ status, created_at, identities, ...account }: ManagedAccount): OperatorAccount {
  return {
    ...account,
    status: status === "disabled" ? "suspended" : status,
    created_at: created_at.toISOString(),
    identities: identities.map(({ last_sign_in_at, ...identity }) => ({
      ...identity,
      last_sign_in_at: new Date(last_sign_in_at).toISOString(),
    })),
  };
}

export async function handleOperatorPage(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const actor = await findActor(request, dependencies);
  return actor === undefined ? signInFirst() : formPage(actor, { dependencies, isRejected: false });
}

export async function handleOperatorCode(
  request: KeepRequest,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  assertSameOrigin(request, dependencies.signIn.publicUrl);
  const actor = await findActor(request, dependencies);
  if (actor === undefined) return signInFirst();
  // The row has `body: "form"`.
  const { fields } = request.body as MultipartForm;
  const [code = "", ...others] = fields.filter(({ name }) => name === "code").map(({ value }) => value);
  const isAccepted =
    others.length === 0 &&
    code.length <= maxCodeCharacters &&
    (await useOperatorCode(actor, code, dependencies));
  return isAccepted
    ? htmlResponse(renderOperatorChosenPage(pageOptions(dependencies)))
    : formPage(actor, { dependencies, isRejected: true });
}

function signInFirst(): HttpResponse {
  return redirectTo("/sign-in?return_to=/operator");
}

type FormState = { readonly dependencies: KeepDependencies; readonly isRejected: boolean };

async function formPage(actor: Actor, { dependencies, isRejected }: FormState): Promise<HttpResponse> {
  const account = await readAccount(dependencies.database, actor.accountId);
  const displayName = account?.display_name ?? "";
  const page = renderOperatorPage({ displayName, isRejected }, pageOptions(dependencies));
  return htmlResponse(page, isRejected ? 403 : 200);
}
