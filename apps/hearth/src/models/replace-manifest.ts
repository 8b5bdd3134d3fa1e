import { readStoredModel } from "./metadata/stored-model.ts";
import type { ModelName } from "./model-name.ts";
import { type FreedBlob, removeUnusedBlobs } from "./remove-unused-blobs.ts";
import { findManifest, writeManifestFile } from "./store/manifest-tree.ts";
import type { ModelStore } from "./store/model-store.ts";

/**
 * Writes the manifest of a name, and removes and returns the blobs that only the previous manifest used. Must run
 * inside `runExclusive`.
 */
export async function replaceManifest(
  store: ModelStore,
  name: ModelName,
  content: Uint8Array,
): Promise<readonly FreedBlob[]> {
  const previous = await findManifest(store, name);
  // The blobs of an unreadable manifest are unknown, so they stay when it is replaced.
  const replaced =
    previous === undefined ? undefined : await readStoredModel(previous).catch(() => undefined);
  await writeManifestFile(store, name, content);
  return replaced === undefined ? [] : removeUnusedBlobs(store, replaced.manifest);
}
