import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";
import { effectiveContextTokens } from "../../scheduling/load-request.ts";

export async function handleOpenAIModelList(
  _request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  const written = listing.models.map((model) => {
    return writeModel(model, { id: model.name, contextTokens: effectiveContextTokens(model, scheduler) });
  });
  return jsonResponse({ object: "list", data: written });
}

/** The rest of the path is the model name, which may contain ":" and "/", URL-encoded or not. */
export async function handleOpenAIModel(
  request: HearthRequest,
  { models, scheduler }: HearthDependencies,
): Promise<HttpResponse> {
  const id = request.parameters["*"] ?? "";
  const model = await models.describe(id);
  return jsonResponse(writeModel(model, { id, contextTokens: effectiveContextTokens(model, scheduler) }));
}

type WrittenAs = { readonly id: string; readonly contextTokens: number | null };

function writeModel(model: ModelSummary, { id, contextTokens }: WrittenAs) {
  return {
    id,
    object: "model",
    created: Math.floor(Date.parse(model.modifiedAt) / 1000),
    owned_by: "local",
    // Not part of the OpenAI API, but common in local servers.
    context_length: contextTokens,
    max_model_len: contextTokens,
    capabilities: model.capabilities,
    meta: {
      n_ctx: contextTokens,
      n_ctx_train: model.trainedContextTokens,
      n_embd: model.embeddingLength,
      size: model.bytes,
    },
  };
}
