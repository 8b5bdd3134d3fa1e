import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { invalidField, requestFailure } from "../../failures.ts";
import type { AliasBody, RemoveAliasBody } from "./schema.ts";

/** Ollama has no aliases; these routes are Hearth's own. */
export async function handleAliasList(
  _request: HearthRequest,
  { aliases }: HearthDependencies,
): Promise<HttpResponse> {
  return jsonResponse({ aliases: await aliases.list() });
}

export async function handleSetAlias(
  { body: { name, model, fallback, parameters } }: HearthRequest<AliasBody>,
  { aliases }: HearthDependencies,
): Promise<HttpResponse> {
  const optional = fallback === undefined || fallback === null ? {} : { fallback };
  const rejection = await aliases.set({ name, model, ...optional, parameters: parameters ?? {} });
  if (rejection !== undefined) throw invalidField(rejection.field, rejection.reason);
  return { status: 200 };
}

export async function handleRemoveAlias(
  { body: { name } }: HearthRequest<RemoveAliasBody>,
  { aliases }: HearthDependencies,
): Promise<HttpResponse> {
  if (!(await aliases.remove(name))) throw requestFailure({ kind: "model-not-found", model: name });
  return { status: 200 };
}
