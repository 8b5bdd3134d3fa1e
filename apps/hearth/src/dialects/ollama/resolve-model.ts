import { invalidField, requestFailure } from "../../failures.ts";
import type { Catalog } from "../../models/catalog.ts";
import type { Capability } from "../../models/metadata/capabilities.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

type Named = { readonly model?: string | null; readonly name?: string | null };

/** A model with its name as it appears in the request, which the response repeats. */
export type ResolvedModel = { readonly requestedName: string; readonly model: ModelDescription };

export function nameOf({ model, name }: Named): string {
  return model || name || "";
}

export function requireName(named: Named): string {
  const name = nameOf(named);
  if (name !== "") return name;
  throw invalidField("model", "is required");
}

export async function resolveModel(models: Catalog, requestedName: string): Promise<ResolvedModel> {
  return { requestedName, model: await models.describe(requestedName) };
}

/** `label` is the name of the capability in the error, as Ollama writes it. */
export function requireCapability(
  { model, requestedName }: ResolvedModel,
  capability: Capability,
  label: string = capability,
): void {
  if (model.capabilities.includes(capability)) return;
  throw requestFailure({ kind: "capability-missing", model: requestedName, capability: label });
}
