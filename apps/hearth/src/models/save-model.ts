import type { SmallLayer } from "./model-extras.ts";
import type { ModelName } from "./model-name.ts";
import { replaceManifest } from "./replace-manifest.ts";
import { commitBlob, findBlob, requireBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import { createConfigLayer, createLayer, encodeManifest, type Layer } from "./store/manifest.ts";
import { type ModelStore, type ModelStores, writableStore } from "./store/model-store.ts";
import { type StagedContent, writeStagedContent } from "./store/staged-content.ts";

/** A layer, with its content when that is not in a store yet. */
export type PlannedLayer = { readonly layer: Layer; readonly staged?: StagedContent };

export type CompleteModel = {
  readonly name: ModelName;
  /** The bytes of a new configuration, or a reference to one in a store. */
  readonly config: Buffer | Layer;
  readonly layers: readonly PlannedLayer[];
  /** Small layers to write; they come last in the manifest. */
  readonly extras: readonly SmallLayer[];
};

export type SaveStep =
  | { readonly step: "saving-layer"; readonly digest: Digest; readonly isNew: boolean }
  | { readonly step: "writing-manifest" };

/**
 * Saves a model under its name in Ollama's layout. Content is written and hashed first; at the end the blobs and then
 * the manifest get their final names. When anything fails before that, or the consumer stops iterating, nothing is left.
 */
export async function* saveModel(stores: ModelStores, model: CompleteModel): AsyncGenerator<SaveStep> {
  const store = writableStore(stores);
  await using stack = new AsyncDisposableStack();
  const layers: PlannedLayer[] = [...model.layers];
  for (const { kind, bytes } of model.extras) {
    const staged = stack.use(await writeStagedContent(store, [bytes]));
    layers.push({ staged, layer: createLayer(kind, staged) });
  }
  const config = await planConfig(store, model.config, stack);
  for (const { staged, layer } of layers) {
    const isNew = staged !== undefined && (await findBlob(stores, layer)) === undefined;
    yield { step: "saving-layer", digest: layer.digest, isNew };
  }
  yield { step: "writing-manifest" };
  await store.runExclusive(async () => {
    for (const { staged, layer } of [...layers, config]) {
      // An existing blob may have been removed with another model in the meantime.
      if (staged === undefined) await requireBlob(stores, layer);
      else await commitBlob(store, staged);
    }
    const manifest = { config: config.layer, layers: layers.map(({ layer }) => layer) };
    await replaceManifest(store, model.name, encodeManifest(manifest));
  });
}

async function planConfig(
  store: ModelStore,
  config: CompleteModel["config"],
  stack: AsyncDisposableStack,
): Promise<PlannedLayer> {
  if (!Buffer.isBuffer(config)) return { layer: config };
  const staged = stack.use(await writeStagedContent(store, [config]));
  return { staged, layer: createConfigLayer(staged) };
}
