import { readStoredModel } from "./metadata/stored-model.ts";
import type { ModelName } from "./model-name.ts";
import { type FreedBlob, removeUnused } from "./remove-unused.ts";
import { findManifest, writeManifestFile } from "./store/manifest-tree.ts";
import type { ModelStore } from "./store/model-store.ts";

/** Gives a name its manifest; what only the manifest before it used goes, and is told. Call it in the store's turn. */
export async function replaceManifest(
  store: ModelStore,
  name: ModelName,
  content: Uint8Array,
): Promise<readonly FreedBlob[]> {
  const before = await findManifest(store, name);
  // A manifest that cannot be read is replaced too; then nobody knows its blobs, and they stay.
  const replaced = before === undefined ? undefined : await readStoredModel(before).catch(() => undefined);
  await writeManifestFile(store, name, content);
  return replaced === undefined ? [] : removeUnused(store, replaced.manifest);
}
