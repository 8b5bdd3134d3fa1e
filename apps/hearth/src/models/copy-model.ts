import { findModel } from "./find-model.ts";
import { parseModelName } from "./model-name.ts";
import { replaceManifest } from "./replace-manifest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

/** Adds a second name for the same layers to our own store; blobs are not copied. */
export async function copyModel(stores: ModelStores, source: string, destination: string): Promise<void> {
  const name = parseModelName(destination);
  const store = writableStore(stores);
  await store.runExclusive(async () => {
    const { content } = await findModel(stores, source);
    await replaceManifest(store, name, content);
  });
}
