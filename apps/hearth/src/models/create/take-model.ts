import { findModel } from "../find-model.ts";
import type { CompleteModel, PlannedLayer } from "../keep-model.ts";
import { writeConfig } from "../metadata/config-blob.ts";
import { describeModel } from "../metadata/describe-model.ts";
import { createHeaderReader } from "../metadata/header-reader.ts";
import { displayModelName } from "../model-name.ts";
import type { JsonFields } from "../store/json-fields.ts";
import { type LayerKind, layersOf } from "../store/manifest.ts";
import type { ModelStores } from "../store/model-store.ts";

/** What a new model starts from. */
export type Origin = {
  readonly config: CompleteModel["config"];
  readonly quantization: string;
  /** Its own, for what the new model does not say. */
  readonly parameters: JsonFields;
  /** The layers that stay when the new model has layers of these kinds itself. */
  layersBeside(kinds: ReadonlySet<LayerKind>): readonly PlannedLayer[];
};

/** Another model, whose layers are shared and say whose they were; licences add up, all else can be replaced. */
export async function takeModel(stores: ModelStores, name: string): Promise<Origin> {
  const model = await findModel(stores, name);
  const { manifest, place } = model;
  const described = await describeModel(model, { stores, headers: createHeaderReader(1) });
  const { written, refused } = described.parameters;
  const unusable = new Set(refused.map(({ parameter }) => parameter));
  return {
    config: manifest.config ?? writeConfig(described.header),
    quantization: described.details.quantization,
    parameters: Object.fromEntries(written.filter(([key]) => !unusable.has(key))),
    layersBeside: (kinds) => {
      const replaced = new Set(layersOf(manifest, ...replacedBy(kinds)));
      const from = displayModelName(place.name);
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
