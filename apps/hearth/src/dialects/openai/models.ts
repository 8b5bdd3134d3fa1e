import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import type { ModelSummary } from "../../models/metadata/describe-model.ts";

export async function answerModels(_call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const listing = await models.list();
  return jsonAnswer({ object: "list", data: listing.models.map((model) => describe(model, model.name)) });
}

/** The rest of the path is the name: names hold ":" and "/", and come raw or encoded. */
export async function answerModel(call: HearthCall, { models }: HearthParts): Promise<Answer> {
  const name = call.parameters["*"] ?? "";
  return jsonAnswer(describe(await models.describe(name), name));
}

function describe(model: ModelSummary, id: string) {
  return {
    id,
    object: "model",
    created: Math.floor(Date.parse(model.modifiedAt) / 1000),
    owned_by: "local",
    // What the family does not have, and its users ask for.
    context_length: model.trainedContextTokens,
    capabilities: model.capabilities,
    meta: { n_ctx_train: model.trainedContextTokens, n_embd: model.embeddingLength, size: model.bytes },
  };
}
