import { findModel } from "./find-model.ts";
import { modelFailure } from "./model-failure.ts";
import { displayModelName } from "./model-name.ts";
import { removeUnusedBlobs } from "./remove-unused-blobs.ts";
import type { Digest } from "./store/digest.ts";
import { removeManifestFile } from "./store/manifest-tree.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

export type RemovedModel = {
  readonly name: string;
  readonly freedBytes: number;
  readonly freedBlobs: readonly Digest[];
};

/**
 * Removes a name from our own store, and those of its blobs that no other manifest references. The manifest is removed
 * first, so that a crash leaves an unused blob and never a name without its blobs.
 */
export async function removeModel(stores: ModelStores, text: string): Promise<RemovedModel> {
  const store = writableStore(stores);
  return store.runExclusive(async () => {
    const { location, manifest } = await findModel(stores, text);
    if (location.store !== store) throw modelFailure({ kind: "store-read-only" });
    await removeManifestFile(location);
    const freed = await removeUnusedBlobs(store, manifest);
    return {
      name: displayModelName(location.name),
      freedBytes: freed.reduce((sum, { bytes }) => sum + bytes, 0),
      freedBlobs: freed.map(({ digest }) => digest),
    };
  });
}
