import { readStoredModel } from "./describing/stored-model.ts";
import { removeBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import { blobsOf, type Manifest } from "./store/manifest.ts";
import { walkManifests } from "./store/manifest-tree.ts";
import type { ModelStore } from "./store/model-store.ts";

export type FreedBlob = { readonly digest: Digest; readonly bytes: number };

/**
 * Of the blobs that a manifest named, removes those that no other names; the manifest is gone already. In a store
 * that another program writes to none goes: it may be about to name one. Call it in the store's turn.
 */
export async function removeUnused(store: ModelStore, removed: Manifest): Promise<readonly FreedBlob[]> {
  const used = store.access === "own" ? await findUsed(store) : undefined;
  if (used === undefined) return [];
  const freed: FreedBlob[] = [];
  for (const digest of new Set(blobsOf(removed).map((blob) => blob.digest))) {
    if (!used.has(digest)) freed.push({ digest, bytes: await removeBlob(store, digest) });
  }
  return freed.filter(({ bytes }) => bytes > 0);
}

/** Undefined when a manifest cannot be read: it may name any blob, so none is removed. */
async function findUsed(store: ModelStore): Promise<ReadonlySet<Digest> | undefined> {
  const { places, strangers, isCut } = await walkManifests(store);
  if (isCut || strangers.length > 0) return undefined;
  try {
    const models = await Promise.all(places.map(readStoredModel));
    return new Set(models.flatMap(({ manifest }) => blobsOf(manifest).map(({ digest }) => digest)));
  } catch {
    return undefined;
  }
}
