import { findModel } from "./find-model.ts";
import { modelFailure } from "./model-failure.ts";
import { displayModelName } from "./model-name.ts";
import { removeUnused } from "./remove-unused.ts";
import type { Digest } from "./store/digest.ts";
import { removeManifestFile } from "./store/manifest-tree.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

export type RemovedModel = {
  readonly name: string;
  readonly freedBytes: number;
  readonly freedBlobs: readonly Digest[];
};

/**
 * Removes a name of our own store, and of the blobs it named those that no other manifest names. The name goes
 * first: a crash leaves a blob too many, never a name without its blobs.
 */
export async function removeModel(stores: ModelStores, text: string): Promise<RemovedModel> {
  const store = writableStore(stores);
  return store.inTurn(async () => {
    const { place, manifest } = await findModel(stores, text);
    if (place.store !== store) throw modelFailure({ kind: "store-read-only" });
    await removeManifestFile(place);
    const freed = await removeUnused(store, manifest);
    return {
      name: displayModelName(place.name),
      freedBytes: freed.reduce((sum, { bytes }) => sum + bytes, 0),
      freedBlobs: freed.map(({ digest }) => digest),
    };
  });
}
