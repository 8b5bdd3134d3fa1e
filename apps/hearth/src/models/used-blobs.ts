import { readStoredModel } from "./metadata/stored-model.ts";
import { modelFailure } from "./model-failure.ts";
import type { Digest } from "./store/digest.ts";
import { blobsOf } from "./store/manifest.ts";
import { walkManifests } from "./store/manifest-tree.ts";
import type { ModelStore } from "./store/model-store.ts";

/** A manifest that cannot be read may name any blob: then there is a doubt, and nobody may remove one. */
export type UsedBlobs = { readonly used: ReadonlySet<Digest> } | { readonly doubt: unknown };

/** Every blob that a manifest of this store names. */
export async function findUsedBlobs(store: ModelStore): Promise<UsedBlobs> {
  const { places, strangers, isCut } = await walkManifests(store);
  const [stranger] = isCut ? ["manifests"] : strangers;
  if (stranger !== undefined) {
    const reason = isCut ? "not all of them can be read" : "it is not where a manifest lies";
    return { doubt: modelFailure({ kind: "manifest-invalid", model: stranger, reason }) };
  }
  try {
    const models = await Promise.all(places.map(readStoredModel));
    return {
      used: new Set(models.flatMap(({ manifest }) => blobsOf(manifest).map(({ digest }) => digest))),
    };
  } catch (doubt) {
    return { doubt };
  }
}
