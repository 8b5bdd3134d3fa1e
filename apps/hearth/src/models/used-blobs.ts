import { readStoredModel } from "./metadata/stored-model.ts";
import { modelFailure } from "./model-failure.ts";
import type { Digest } from "./store/digest.ts";
import { blobsOf } from "./store/manifest.ts";
import { walkManifests } from "./store/manifest-tree.ts";
import type { ModelStore } from "./store/model-store.ts";

/** An unreadable manifest may reference any blob, so in case of an error no blob may be removed. */
export type UsedBlobs = { readonly used: ReadonlySet<Digest> } | { readonly error: unknown };

/** Every blob that a manifest of this store references. */
export async function findUsedBlobs(store: ModelStore): Promise<UsedBlobs> {
  const { locations, unexpectedPaths, isIncomplete } = await walkManifests(store);
  const [unexpected] = isIncomplete ? ["manifests"] : unexpectedPaths;
  if (unexpected !== undefined) {
    const reason = isIncomplete ? "some of them cannot be read" : "its path is not a model name";
    return { error: modelFailure({ kind: "manifest-invalid", model: unexpected, reason }) };
  }
  try {
    const models = await Promise.all(locations.map(readStoredModel));
    return {
      used: new Set(models.flatMap(({ manifest }) => blobsOf(manifest).map(({ digest }) => digest))),
    };
  } catch (error) {
    return { error };
  }
}
