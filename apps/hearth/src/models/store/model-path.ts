import { randomUUID } from "node:crypto";
import { link, lstat, mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { digestPath, type FoundBlob, requireBlob } from "./blob-store.ts";
import type { Layer } from "./manifest.ts";
import { type ModelStore, type ModelStores, partialFolder, writableStore } from "./model-store.ts";

/** The path that an engine opens, and a fingerprint that changes with the content. */
export type ResolvedModelFile = { readonly path: string; readonly fingerprint: string };

const shardNumber = /-(?<shard>\d{5})-of-\d{5}\.gguf$/u;

/**
 * A model in one blob is opened in place. llama.cpp finds the shards of a split model by their file names, which blobs
 * do not have, so shards get a folder of links in our own store.
 */
export async function resolveModelFiles(
  stores: ModelStores,
  layers: readonly Layer[],
): Promise<ResolvedModelFile> {
  const shards: FoundBlob[] = [];
  for (const layer of sortShards(layers)) shards.push(await requireBlob(stores, layer));
  const [first] = shards;
  if (first === undefined) throw new Error("Cannot open a model without layers");
  const fingerprint = shards
    .map(({ digest, modifiedNanoseconds }) => `${digest}@${modifiedNanoseconds}`)
    .join();
  if (shards.length === 1) return { path: first.path, fingerprint };
  return { path: await linkShards(writableStore(stores), shards), fingerprint };
}

/** Sorted by the number in the file name when every shard has one, otherwise in the manifest's order. */
function sortShards(layers: readonly Layer[]): readonly Layer[] {
  const numbered = layers.map((layer) => ({
    layer,
    shard: shardNumber.exec(layer.name ?? "")?.groups?.["shard"],
  }));
  if (numbered.some(({ shard }) => shard === undefined)) return layers;
  return numbered.toSorted((one, other) => Number(one.shard) - Number(other.shard)).map(({ layer }) => layer);
}

async function linkShards(store: ModelStore, shards: readonly FoundBlob[]): Promise<string> {
  const [first] = shards;
  if (first === undefined) throw new Error("Cannot link a model without shards");
  const folder = digestPath(store.root, "shards", first.digest);
  await mkdir(folder, { recursive: true });
  const paths = shards.map((_, index) =>
    join(folder, `model-${padNumber(index + 1)}-of-${padNumber(shards.length)}.gguf`),
  );
  for (const [index, shard] of shards.entries()) await linkShard(store, shard.path, paths[index] ?? "");
  return paths[0] ?? "";
}

/** A hard link where the file system allows it, otherwise a symbolic link, e.g. to a store on another disk. */
async function linkShard(store: ModelStore, target: string, path: string): Promise<void> {
  if (await isSameFile(target, path)) return;
  const unfinished = join(partialFolder(store.root), randomUUID());
  await link(target, unfinished).catch(() => symlink(target, unfinished));
  await rename(unfinished, path);
  // Renaming one hard link of a file over another does nothing and leaves the first in place.
  await rm(unfinished, { force: true });
}

async function isSameFile(target: string, path: string): Promise<boolean> {
  const [one, other] = await Promise.all([lstat(target), lstat(path).catch(() => undefined)]);
  return one.ino === other?.ino && one.dev === other.dev;
}

function padNumber(number: number): string {
  return String(number).padStart(5, "0");
}
