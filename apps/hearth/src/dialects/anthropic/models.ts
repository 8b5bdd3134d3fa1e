import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import { effectiveContextTokens } from "../../scheduling/load-request.ts";
import { respond } from "./respond.ts";
import { selectPage } from "./select-page.ts";

export async function handleAnthropicModelList(
  request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  const all = listing.models.map((model) => writeModel(model, effectiveContextTokens(model, scheduler)));
  return respond(selectPage(all, request.query), request);
}

export async function handleAnthropicModel(
  request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const model = await models.describe(request.parameters["*"] ?? "");
  return respond(writeModel(model, effectiveContextTokens(model, scheduler)), request);
}

function writeModel({ name, modifiedAt }: ModelSummary, contextTokens: number | null) {
  return {
    type: "model",
    id: name,
    display_name: name,
    created_at: modifiedAt,
    max_input_tokens: contextTokens,
    max_tokens: contextTokens,
    capabilities: null,
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
  } as const;
}
