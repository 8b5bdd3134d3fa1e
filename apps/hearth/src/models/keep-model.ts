import type { SmallLayer } from "./model-extras.ts";
import type { ModelName } from "./model-name.ts";
import { replaceManifest } from "./replace-manifest.ts";
import { findBlob, keepBlob, requireBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import { type Layer, makeConfigLayer, makeLayer, writeManifest } from "./store/manifest.ts";
import { type ModelStore, type ModelStores, writableStore } from "./store/model-store.ts";
import { type StagedContent, stageContent } from "./store/stage-content.ts";

/** A layer, and its content when that is not in a store yet. */
export type PlannedLayer = { readonly layer: Layer; readonly staged?: StagedContent };

export type CompleteModel = {
  readonly name: ModelName;
  /** The bytes of a new configuration, or one that is in a store. */
  readonly config: Buffer | Layer;
  readonly layers: readonly PlannedLayer[];
  /** Small layers that are to be written; they come last. */
  readonly extras: readonly SmallLayer[];
};

export type KeepingStep =
  | { readonly step: "keeping-layer"; readonly digest: Digest; readonly isNew: boolean }
  | { readonly step: "writing-manifest" };

/**
 * Stores a model under its name, laid out as Ollama would. Everything is written and hashed first and appears at
 * the end, blobs before the name; when anything fails before that, or the reader leaves, nothing is left.
 */
export async function* keepModel(stores: ModelStores, model: CompleteModel): AsyncGenerator<KeepingStep> {
  const store = writableStore(stores);
  await using stack = new AsyncDisposableStack();
  const layers: PlannedLayer[] = [...model.layers];
  for (const { kind, bytes } of model.extras) {
    const staged = stack.use(await stageContent(store, [bytes]));
    layers.push({ staged, layer: makeLayer(kind, staged) });
  }
  const config = await planConfig(store, model.config, stack);
  for (const { staged, layer } of layers) {
    const isNew = staged !== undefined && (await findBlob(stores, layer)) === undefined;
    yield { step: "keeping-layer", digest: layer.digest, isNew };
  }
  yield { step: "writing-manifest" };
  await store.inTurn(async () => {
    for (const { staged, layer } of [...layers, config]) {
      // A blob that was there before may have gone with another model since.
      if (staged === undefined) await requireBlob(stores, layer);
      else await keepBlob(store, staged);
    }
    const manifest = { config: config.layer, layers: layers.map(({ layer }) => layer) };
    await replaceManifest(store, model.name, writeManifest(manifest));
  });
}

async function planConfig(
  store: ModelStore,
  config: CompleteModel["config"],
  stack: AsyncDisposableStack,
): Promise<PlannedLayer> {
  if (!Buffer.isBuffer(config)) return { layer: config };
  const staged = stack.use(await stageContent(store, [config]));
  return { staged, layer: makeConfigLayer(staged) };
}
