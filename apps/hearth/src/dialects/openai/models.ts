import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";

export async function handleOpenAIModelList(
  _request: HearthRequest,
  { models }: HearthDependencies,
): Promise<HttpResponse> {
  const listing = await models.list();
  return jsonResponse({ object: "list", data: listing.models.map((model) => writeModel(model, model.name)) });
}

/** The rest of the path is the model name, which may contain ":" and "/", URL-encoded or not. */
export async function handleOpenAIModel(
  request: HearthRequest,
  { models }: HearthDependencies,
): Promise<HttpResponse> {
  const name = request.parameters["*"] ?? "";
  return jsonResponse(writeModel(await models.describe(name), name));
}

function writeModel(model: ModelSummary, id: string) {
  return {
    id,
    object: "model",
    created: Math.floor(Date.parse(model.modifiedAt) / 1000),
    owned_by: "local",
    // Not part of the OpenAI API, but common in local servers.
    context_length: model.trainedContextTokens,
    capabilities: model.capabilities,
    meta: { n_ctx_train: model.trainedContextTokens, n_embd: model.embeddingLength, size: model.bytes },
  };
}
