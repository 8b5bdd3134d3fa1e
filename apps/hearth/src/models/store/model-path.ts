import { randomUUID } from "node:crypto";
import { link, lstat, mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { digestPath, type FoundBlob, requireBlob } from "./blob-store.ts";
import type { Layer } from "./manifest.ts";
import { type ModelStore, type ModelStores, partialFolder, writableStore } from "./model-store.ts";

/** What the engine opens, and what tells that it has changed. */
export type OpenableModel = { readonly path: string; readonly fingerprint: string };

const partNumber = /-(?<part>\d{5})-of-\d{5}\.gguf$/u;

/**
 * A model in one blob is opened where it lies. llama.cpp finds the parts of a split one by their names, and blobs
 * have none, so these get a folder of links in our own store.
 */
export async function openableModel(stores: ModelStores, layers: readonly Layer[]): Promise<OpenableModel> {
  const parts: FoundBlob[] = [];
  for (const layer of inOrder(layers)) parts.push(await requireBlob(stores, layer));
  const [first] = parts;
  if (first === undefined) throw new Error("Cannot open a model without layers");
  const fingerprint = parts
    .map(({ digest, modifiedNanoseconds }) => `${digest}@${modifiedNanoseconds}`)
    .join();
  if (parts.length === 1) return { path: first.path, fingerprint };
  return { path: await linkParts(writableStore(stores), parts), fingerprint };
}

/** By the number in the file's name where every part has one, else as the manifest lists them. */
function inOrder(layers: readonly Layer[]): readonly Layer[] {
  const numbered = layers.map((layer) => ({
    layer,
    part: partNumber.exec(layer.name ?? "")?.groups?.["part"],
  }));
  if (numbered.some(({ part }) => part === undefined)) return layers;
  return numbered.toSorted((one, other) => Number(one.part) - Number(other.part)).map(({ layer }) => layer);
}

async function linkParts(store: ModelStore, parts: readonly FoundBlob[]): Promise<string> {
  const [first] = parts;
  if (first === undefined) throw new Error("Cannot link a model without parts");
  const folder = digestPath(store.root, "shards", first.digest);
  await mkdir(folder, { recursive: true });
  const paths = parts.map((_, index) =>
    join(folder, `model-${digits(index + 1)}-of-${digits(parts.length)}.gguf`),
  );
  for (const [index, part] of parts.entries()) await linkPart(store, part.path, paths[index] ?? "");
  return paths[0] ?? "";
}

/** A hard link where the file system allows it; a symbolic one to a store on another disk. */
async function linkPart(store: ModelStore, target: string, path: string): Promise<void> {
  if (await isSameFile(target, path)) return;
  const unfinished = join(partialFolder(store.root), randomUUID());
  await link(target, unfinished).catch(() => symlink(target, unfinished));
  await rename(unfinished, path);
  // Two hard links to one file: the rename does nothing and leaves the first.
  await rm(unfinished, { force: true });
}

async function isSameFile(target: string, path: string): Promise<boolean> {
  const [one, other] = await Promise.all([lstat(target), lstat(path).catch(() => undefined)]);
  return one.ino === other?.ino && one.dev === other.dev;
}

function digits(number: number): string {
  return String(number).padStart(5, "0");
}
