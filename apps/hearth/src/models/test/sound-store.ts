import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createCatalog } from "../catalog.ts";
import { findModel } from "../find-model.ts";
import { requireBlob } from "../store/blob-store.ts";
import { blobsOf } from "../store/manifest.ts";
import { openModelStore } from "../store/model-store.ts";

/** The digests of manifests by the names of their models. */
export type StoreState = Readonly<Record<string, string>>;

/**
 * Opens a store as a server that starts does, and throws unless every name in it opens, everything a name stands
 * for is there, and every blob, named or not, is what its own name says.
 */
export async function readSoundStore(folder: string): Promise<StoreState> {
  const stores = [await openModelStore(folder, "own")] as const;
  const catalog = createCatalog(stores);
  const { models, problems } = await catalog.list();
  if (problems.length > 0) throw new Error(`The list has problems: ${JSON.stringify(problems)}`);
  for (const { name } of models) {
    await catalog.describe(name);
    await catalog.inspect(name);
    const { manifest } = await findModel(stores, name);
    for (const blob of blobsOf(manifest)) await requireBlob(stores, blob);
  }
  await refuseDamagedBlobs(folder);
  return Object.fromEntries(
    models
      .map(({ name, digest }) => [name, digest] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** How many blobs there are, all of them hashed. */
export async function refuseDamagedBlobs(folder: string): Promise<number> {
  const names = await readdir(join(folder, "blobs"));
  for (const name of names) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, "blobs", name)), hash);
    const actual = `sha256-${hash.digest("hex")}`;
    if (actual !== name) throw new Error(`The blob "${name}" holds "${actual}"`);
  }
  return names.length;
}
