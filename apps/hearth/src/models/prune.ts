import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { modelFailure } from "./model-failure.ts";
import { removeBlob } from "./store/blob-store.ts";
import { readDigest } from "./store/digest.ts";
import { type ModelStore, type ModelStores, partialFolder } from "./store/model-store.ts";
import { findUsedBlobs } from "./used-blobs.ts";

/** Something in our own store that no model needs. */
export type UnusedFile = {
  readonly kind: "blob" | "unfinished";
  /** A digest, or the name of an unfinished file. */
  readonly name: string;
  /** On the disk: an unfinished file has holes. */
  readonly bytes: number;
  readonly modifiedAt: Date;
};

/** What is younger may belong to an upload, a pull or a create that is under way. */
const leastAgeMilliseconds = 3_600_000;
const diskBlockBytes = 512;

/** Removes what no model needs, from our own store alone, and says what; with `dryRun` it only says it. */
export async function prune(
  [store]: ModelStores,
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly UnusedFile[]> {
  if (dryRun) return findUnused(store);
  if (store.access !== "own") throw modelFailure({ kind: "store-read-only" });
  return store.inTurn(async () => {
    const unused = await findUnused(store);
    for (const { kind, name } of unused) {
      const digest = readDigest(name);
      if (kind === "blob" && digest !== undefined) await removeBlob(store, digest);
      else await rm(join(partialFolder(store.root), name), { recursive: true, force: true });
    }
    return unused;
  });
}

async function findUnused(store: ModelStore): Promise<readonly UnusedFile[]> {
  const found = await findUsedBlobs(store);
  if ("doubt" in found) throw found.doubt;
  const blobs = await listOld(store, "blobs");
  const unfinished = await listOld(store, "partial");
  const orphans = blobs.flatMap((file) => {
    const digest = readDigest(file.name.replace("-", ":"));
    return digest === undefined || found.used.has(digest) ? [] : [{ ...file, name: digest }];
  });
  return [...orphans, ...unfinished];
}

async function listOld({ root }: ModelStore, place: "blobs" | "partial"): Promise<readonly UnusedFile[]> {
  const folder = join(root, place);
  const kind = place === "blobs" ? "blob" : "unfinished";
  const files: UnusedFile[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const status = await lstat(join(folder, name)).catch(() => undefined);
    const isOld = status !== undefined && Date.now() - status.mtimeMs > leastAgeMilliseconds;
    if (!isOld || (kind === "blob" && !status.isFile())) continue;
    files.push({ kind, name, bytes: status.blocks * diskBlockBytes, modifiedAt: status.mtime });
  }
  return files.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
