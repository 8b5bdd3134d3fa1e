import { removeBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import { blobsOf, type Manifest } from "./store/manifest.ts";
import type { ModelStore } from "./store/model-store.ts";
import { findUsedBlobs } from "./used-blobs.ts";

export type FreedBlob = { readonly digest: Digest; readonly bytes: number };

/**
 * Of the blobs that a manifest named, removes those that no other names; the manifest is gone already. In a store
 * that another program writes to none goes: it may be about to name one. Call it in the store's turn.
 */
export async function removeUnused(store: ModelStore, removed: Manifest): Promise<readonly FreedBlob[]> {
  if (store.access !== "own") return [];
  const found = await findUsedBlobs(store);
  if ("doubt" in found) return [];
  const freed: FreedBlob[] = [];
  for (const digest of new Set(blobsOf(removed).map((blob) => blob.digest))) {
    if (!found.used.has(digest)) freed.push({ digest, bytes: await removeBlob(store, digest) });
  }
  return freed.filter(({ bytes }) => bytes > 0);
}
