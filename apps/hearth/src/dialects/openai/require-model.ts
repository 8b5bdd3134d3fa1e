import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { Capability } from "../../models/metadata/capabilities.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

/** The model that a request names, once it is known that it can do what is asked. */
export async function describeFor(
  call: Pick<HearthCall<{ readonly model: string }>, "body" | "note">,
  { models }: Pick<HearthParts, "models">,
  capability?: Capability,
): Promise<ModelDescription> {
  const { model: name } = call.body;
  call.note({ model: name });
  const model = await models.describe(name);
  if (capability !== undefined) requireCapability(model, name, capability);
  return model;
}

export function requireCapability(
  { capabilities }: Pick<ModelDescription, "capabilities">,
  name: string,
  capability: Capability,
): void {
  if (capabilities.includes(capability)) return;
  throw requestFailure({ kind: "capability-lacking", model: name, capability });
}
