import { readStoredModel, type StoredModel } from "./metadata/stored-model.ts";
import { modelFailure } from "./model-failure.ts";
import { isCloudName, parseModelName } from "./model-name.ts";
import { findManifest } from "./store/manifest-tree.ts";
import type { ModelStores } from "./store/model-store.ts";

/** Finds a model by name, ignoring case, in the first store that has it. */
export async function findModel(stores: ModelStores, text: string): Promise<StoredModel> {
  const name = parseModelName(text);
  for (const store of stores) {
    const location = await findManifest(store, name);
    if (location === undefined) continue;
    const model = await readStoredModel(location);
    if (name.digest === null || name.digest === model.digest) return model;
  }
  throw modelFailure({ kind: isCloudName(name) ? "model-remote" : "model-not-found", model: text });
}
