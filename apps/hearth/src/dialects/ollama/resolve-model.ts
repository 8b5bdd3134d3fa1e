import { requestFailure } from "../../failures.ts";
import type { Catalog } from "../../models/catalog.ts";
import type { Capability } from "../../models/metadata/capabilities.ts";
import type { ModelDescription } from "../../models/metadata/describe-model.ts";

type Named = { readonly model?: string | null; readonly name?: string | null };

/** The model as it was asked for: its name comes back in the answer as the client wrote it. */
export type AskedModel = { readonly requestedName: string; readonly model: ModelDescription };

export function nameOf({ model, name }: Named): string {
  return model || name || "";
}

export function requireName(named: Named): string {
  const name = nameOf(named);
  if (name !== "") return name;
  throw requestFailure({ kind: "request-invalid", place: "model", reason: "is required" });
}

export async function findAsked(models: Catalog, requestedName: string): Promise<AskedModel> {
  return { requestedName, model: await models.describe(requestedName) };
}

/** What the model must be able to do, and what the refusal calls it. */
export function requireAbility(
  { model, requestedName }: AskedModel,
  ability: Capability,
  inWords: string = ability,
): void {
  if (model.capabilities.includes(ability)) return;
  throw requestFailure({ kind: "capability-lacking", model: requestedName, capability: inWords });
}
