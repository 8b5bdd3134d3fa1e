import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readStoredModel } from "./describing/stored-model.ts";
import { modelFailure } from "./model-failure.ts";
import { removeBlob } from "./store/blob-store.ts";
import { type Digest, readDigest } from "./store/digest.ts";
import { blobsOf } from "./store/manifest.ts";
import { walkManifests } from "./store/manifest-tree.ts";
import { type ModelStore, type ModelStores, partialFolder } from "./store/model-store.ts";

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
  const used = await findUsed(store);
  const blobs = await listOld(store, "blobs");
  const unfinished = await listOld(store, "partial");
  const orphans = blobs.flatMap((file) => {
    const digest = readDigest(file.name.replace("-", ":"));
    return digest === undefined || used.has(digest) ? [] : [{ ...file, name: digest }];
  });
  return [...orphans, ...unfinished];
}

/** A manifest that cannot be read may name any blob, so its refusal goes to the caller and nothing is removed. */
async function findUsed(store: ModelStore): Promise<ReadonlySet<Digest>> {
  const { places, strangers, isCut } = await walkManifests(store);
  const [stranger] = isCut ? ["manifests"] : strangers;
  if (stranger !== undefined) {
    throw modelFailure({
      kind: "manifest-invalid",
      model: stranger,
      reason: isCut ? "not all of them can be read" : "it is not where a manifest lies",
    });
  }
  const models = await Promise.all(places.map(readStoredModel));
  return new Set(models.flatMap(({ manifest }) => blobsOf(manifest).map(({ digest }) => digest)));
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
