import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { modelFailure } from "./model-failure.ts";
import { removeBlob } from "./store/blob-store.ts";
import { type Digest, tryParseDigest } from "./store/digest.ts";
import { type ModelStore, type ModelStores, partialFolder } from "./store/model-store.ts";
import { findUsedBlobs } from "./used-blobs.ts";

/** A file in our own store that no model uses. */
export type UnusedFile = {
  readonly kind: "blob" | "unfinished";
  /** A digest, or the file name of an unfinished download. */
  readonly name: string;
  /** Allocated on disk, because unfinished files are sparse. */
  readonly bytes: number;
  readonly modifiedAt: Date;
};

/** Newer files may belong to an upload, a pull or a create in progress. */
const minAgeMilliseconds = 3_600_000;
const diskBlockBytes = 512;

/** A model is created from an upload within seconds, or never. */
const maxUploadAgeMilliseconds = 24 * 3_600_000;

/** Removes uploads from which no model was created, and what else is left of interrupted changes. */
export async function removeOldUploads([store]: ModelStores): Promise<readonly UnusedFile[]> {
  if (store.access !== "own") return [];
  return store.runExclusive(async () => {
    const unused = await findUnusedBlobs(store, maxUploadAgeMilliseconds);
    for (const { name } of unused) await removeBlob(store, name);
    return unused;
  });
}

/** Removes the unused files of our own store and returns them; with `dryRun` it only returns them. */
export async function prune(
  [store]: ModelStores,
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly UnusedFile[]> {
  if (dryRun) return findUnused(store);
  if (store.access !== "own") throw modelFailure({ kind: "store-read-only" });
  return store.runExclusive(async () => {
    const unused = await findUnused(store);
    for (const { kind, name } of unused) {
      const digest = tryParseDigest(name);
      if (kind === "blob" && digest !== undefined) await removeBlob(store, digest);
      else await rm(join(partialFolder(store.root), name), { recursive: true, force: true });
    }
    return unused;
  });
}

async function findUnused(store: ModelStore): Promise<readonly UnusedFile[]> {
  const blobs = await findUnusedBlobs(store, minAgeMilliseconds);
  return [...blobs, ...(await listOldFiles(store, "partial", minAgeMilliseconds))];
}

/** Blobs of at least this age that no manifest references. */
export async function findUnusedBlobs(
  store: ModelStore,
  minAge: number,
): Promise<readonly (UnusedFile & { readonly name: Digest })[]> {
  const found = await findUsedBlobs(store);
  if ("error" in found) throw found.error;
  const blobs = await listOldFiles(store, "blobs", minAge);
  return blobs.flatMap((file) => {
    const digest = tryParseDigest(file.name.replace("-", ":"));
    return digest === undefined || found.used.has(digest) ? [] : [{ ...file, name: digest }];
  });
}

async function listOldFiles(
  { root }: ModelStore,
  subfolder: "blobs" | "partial",
  minAge: number,
): Promise<readonly UnusedFile[]> {
  const folder = join(root, subfolder);
  const kind = subfolder === "blobs" ? "blob" : "unfinished";
  const files: UnusedFile[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const status = await lstat(join(folder, name)).catch(() => undefined);
    const isOld = status !== undefined && Date.now() - status.mtimeMs >= minAge;
    if (!isOld || (kind === "blob" && !status.isFile())) continue;
    files.push({ kind, name, bytes: status.blocks * diskBlockBytes, modifiedAt: status.mtime });
  }
  return files.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
