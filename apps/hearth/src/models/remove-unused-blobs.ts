import { removeBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import { blobsOf, type Manifest } from "./store/manifest.ts";
import type { ModelStore } from "./store/model-store.ts";
import { findUsedBlobs } from "./used-blobs.ts";

export type FreedBlob = { readonly digest: Digest; readonly bytes: number };

/**
 * Removes the blobs of a removed manifest that no other manifest references. Does nothing in a store that another
 * program writes to, because that program may be about to reference one. Must run inside `runExclusive`.
 */
export async function removeUnusedBlobs(store: ModelStore, removed: Manifest): Promise<readonly FreedBlob[]> {
  if (store.access !== "own") return [];
  const found = await findUsedBlobs(store);
  if ("error" in found) return [];
  const freed: FreedBlob[] = [];
  for (const digest of new Set(blobsOf(removed).map((blob) => blob.digest))) {
    if (!found.used.has(digest)) freed.push({ digest, bytes: await removeBlob(store, digest) });
  }
  return freed.filter(({ bytes }) => bytes > 0);
}
