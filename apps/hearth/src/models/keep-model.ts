import type { ModelFile } from "@hearth-and-keep/gguf";
import { writeConfig } from "./describing/config-blob.ts";
import type { SmallLayer } from "./model-extras.ts";
import type { ModelName } from "./model-name.ts";
import { replaceManifest } from "./replace-manifest.ts";
import { keepBlob, requireBlob } from "./store/blob-store.ts";
import { type Layer, makeConfigLayer, makeLayer, writeManifest } from "./store/manifest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";
import { type StagedContent, stageContent } from "./store/stage-content.ts";

export type CompleteModel = {
  readonly name: ModelName;
  readonly header: ModelFile;
  readonly extras: readonly SmallLayer[];
  /** Layers of the weights, and the content of those that are not in a store yet. */
  readonly weights: readonly { readonly layer: Layer; readonly staged?: StagedContent }[];
};

/**
 * Stores a model under its name, laid out as Ollama would. Everything is written and hashed first and appears at
 * the end, blobs before the name; when anything fails before that, nothing is left.
 */
export async function keepModel(stores: ModelStores, model: CompleteModel): Promise<void> {
  const store = writableStore(stores);
  await using stack = new AsyncDisposableStack();
  const extras: { layer: Layer; staged: StagedContent }[] = [];
  for (const { kind, bytes } of model.extras) {
    const staged = stack.use(await stageContent(store, [bytes]));
    extras.push({ staged, layer: makeLayer(kind, staged) });
  }
  const config = stack.use(await stageContent(store, [writeConfig(model.header)]));
  const layers = [...model.weights, ...extras];
  await store.inTurn(async () => {
    for (const { staged, layer } of layers) {
      // A blob that was there before may have gone with another model since.
      if (staged === undefined) await requireBlob(stores, layer);
      else await keepBlob(store, staged);
    }
    await keepBlob(store, config);
    const manifest = { config: makeConfigLayer(config), layers: layers.map(({ layer }) => layer) };
    await replaceManifest(store, model.name, writeManifest(manifest));
  });
}
