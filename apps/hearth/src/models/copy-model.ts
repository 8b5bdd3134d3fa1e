import { findModel } from "./find-model.ts";
import { parseModelName } from "./model-name.ts";
import { replaceManifest } from "./replace-manifest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

/** A second name for the same layers, in our own store; the layers stay where they are. */
export async function copyModel(stores: ModelStores, source: string, destination: string): Promise<void> {
  const name = parseModelName(destination);
  const store = writableStore(stores);
  await store.inTurn(async () => {
    const { content } = await findModel(stores, source);
    await replaceManifest(store, name, content);
  });
}
