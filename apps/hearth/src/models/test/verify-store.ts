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

/** Digests of the manifests, by model name. */
export type StoreState = Readonly<Record<string, string>>;

/**
 * Opens a store like a starting server, and throws unless every model can be described, every referenced blob exists,
 * and every blob matches its digest.
 */
export async function readVerifiedStore(folder: string): Promise<StoreState> {
  const stores = [await openModelStore(folder, "own")] as const;
  const catalog = createCatalog(stores);
  const { models, errors } = await catalog.list();
  if (errors.length > 0) throw new Error(`The list has errors: ${JSON.stringify(errors)}`);
  for (const { name } of models) {
    await catalog.describe(name);
    await catalog.inspect(name);
    const { manifest } = await findModel(stores, name);
    for (const blob of blobsOf(manifest)) await requireBlob(stores, blob);
  }
  await verifyBlobs(folder);
  return Object.fromEntries(
    models
      .map(({ name, digest }) => [name, digest] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** Hashes every blob that a server does not remove meanwhile, and returns the number of files. */
export async function verifyBlobs(folder: string): Promise<number> {
  const names = await readdir(join(folder, "blobs"));
  for (const name of names) {
    const hash = createHash("sha256");
    const isRemoved = await pipeline(createReadStream(join(folder, "blobs", name)), hash).then(
      () => false,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
        return true;
      },
    );
    if (isRemoved) continue;
    const actual = `sha256-${hash.digest("hex")}`;
    if (actual !== name) throw new Error(`The blob "${name}" has the content of "${actual}"`);
  }
  return names.length;
}
