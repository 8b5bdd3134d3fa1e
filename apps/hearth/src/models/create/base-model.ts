import { findModel } from "../find-model.ts";
import { encodeConfig } from "../metadata/config-blob.ts";
import { describeModel } from "../metadata/describe-model.ts";
import { createHeaderReader } from "../metadata/header-reader.ts";
import { displayModelName } from "../model-name.ts";
import type { CompleteModel, PlannedLayer } from "../save-model.ts";
import { type LayerKind, layersOf } from "../store/manifest.ts";
import type { ModelStores } from "../store/model-store.ts";
import type { JsonObject } from "../store/parse-json.ts";

/** The starting point of a new model. */
export type ModelBase = {
  readonly config: CompleteModel["config"];
  readonly quantization: string;
  /** Inherited, unless the new model sets them. */
  readonly parameters: JsonObject;
  /** The layers that remain when the new model has its own layers of these kinds. */
  layersExcept(kinds: ReadonlySet<LayerKind>): readonly PlannedLayer[];
};

/** Inherits the layers of another model, marked with its name. Licences accumulate; all other kinds can be replaced. */
export async function loadBaseModel(stores: ModelStores, name: string): Promise<ModelBase> {
  const model = await findModel(stores, name);
  const { manifest, location } = model;
  const description = await describeModel(model, { stores, headers: createHeaderReader(1) });
  const { entries, rejected } = description.parameters;
  const invalid = new Set(rejected.map(({ parameter }) => parameter));
  return {
    config: manifest.config ?? encodeConfig(description.header),
    quantization: description.details.quantization,
    parameters: Object.fromEntries(entries.filter(([key]) => !invalid.has(key))),
    layersExcept: (kinds) => {
      const replaced = new Set(layersOf(manifest, ...replacedBy(kinds)));
      const from = displayModelName(location.name);
      return manifest.layers
        .filter((layer) => !replaced.has(layer))
        .map((layer) => ({ layer: { ...layer, from } }));
    },
  };
}

function replacedBy(kinds: ReadonlySet<LayerKind>): readonly LayerKind[] {
  const replaced = [...kinds].filter((kind) => kind !== "license");
  return kinds.has("template") ? [...replaced, "prompt"] : replaced;
}
