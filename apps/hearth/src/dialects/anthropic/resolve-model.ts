import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { Capability } from "../../models/metadata/capabilities.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

/** The model that a request names; rejects when it lacks the capability. */
export async function resolveModel(
  request: Pick<HearthRequest<{ readonly model: string }>, "body" | "addLogFields">,
  { models }: Pick<HearthDependencies, "models">,
  capability: Capability,
): Promise<ModelDescription> {
  const { model: name } = request.body;
  request.addLogFields({ model: name });
  const model = await models.describe(name);
  requireCapability(model, capability);
  return model;
}

function requireCapability({ name, capabilities }: ModelDescription, capability: Capability): void {
  if (capabilities.includes(capability)) return;
  throw requestFailure({ kind: "capability-missing", model: name, capability });
}
