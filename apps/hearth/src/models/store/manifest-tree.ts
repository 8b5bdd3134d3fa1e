import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName, namePath, readModelName } from "../model-name.ts";
import { keepFile, syncFolder } from "./keep-file.ts";
import { mostManifestBytes } from "./manifest.ts";
import type { ModelStore } from "./model-store.ts";
import { stageContent } from "./stage-content.ts";

/** Where a manifest lies; what is in it has not been looked at. */
export type ManifestPlace = { readonly store: ModelStore; readonly name: ModelName; readonly path: string };

export type ManifestTree = {
  readonly places: readonly ManifestPlace[];
  /** Files that are no place for a manifest, relative to the store. */
  readonly strangers: readonly string[];
  /** There may be more: a folder could not be read, or there were too many. */
  readonly isCut: boolean;
};

export type ManifestFile = { readonly content: Buffer; readonly modifiedNanoseconds: bigint };

const mostManifests = 20_000;
const depth = 4;

/** Every manifest below a store's root. Links are not followed; names that begin with a dot are passed over. */
export async function walkManifests(store: ModelStore): Promise<ManifestTree> {
  const found: { parts: readonly string[]; isFile: boolean }[] = [];
  let isCut = false;
  async function walk(parts: readonly string[]): Promise<void> {
    const entries = await listFolder(join(manifestsFolder(store), ...parts)).catch(() => {
      isCut = true;
      return [];
    });
    await Promise.all(
      entries.map(async (entry) => {
        const path = [...parts, entry.name];
        if (entry.isDirectory() && path.length < depth) return walk(path);
        if (found.length < mostManifests) found.push({ parts: path, isFile: entry.isFile() });
        else isCut = true;
      }),
    );
  }
  await walk([]);
  const placed = found.map((entry) => ({
    ...entry,
    place: entry.isFile ? placeOf(store, entry.parts) : undefined,
  }));
  return {
    places: placed.flatMap(({ place }) => (place === undefined ? [] : [place])),
    strangers: placed.flatMap(({ place, parts }) => (place === undefined ? [parts.join("/")] : [])),
    isCut,
  };
}

/** The place of a name that exists, in the case it is stored in; the exact spelling wins over another. */
export async function findManifest(store: ModelStore, name: ModelName): Promise<ManifestPlace | undefined> {
  const parts = await findParts(manifestsFolder(store), namePath(name)).catch((problem: unknown) => {
    // Where we write, a name that cannot be read is not a free one.
    if (store.access !== "read-only") throw problem;
    return undefined;
  });
  return parts === undefined ? undefined : placeOf(store, parts);
}

/** No link is followed, and a file over the bound is not read. */
export async function readManifestFile({ path, name }: ManifestPlace): Promise<ManifestFile> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using file = await open(path, flags).catch((cause: unknown) => {
    throw modelFailure(
      { kind: "manifest-invalid", model: displayModelName(name), reason: "it cannot be read" },
      { cause },
    );
  });
  const status = await file.stat({ bigint: true });
  if (!status.isFile() || status.size > mostManifestBytes) {
    const reason = status.isFile()
      ? `it is longer than ${mostManifestBytes} bytes`
      : "it is not a regular file";
    throw modelFailure({ kind: "manifest-invalid", model: displayModelName(name), reason });
  }
  const bytes = Buffer.alloc(Number(status.size));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return { content: bytes.subarray(0, bytesRead), modifiedNanoseconds: status.mtimeNs };
}

/** Puts a manifest under its name, or in the place of the one that differs only in case. Call it in the store's turn. */
export async function writeManifestFile(
  store: ModelStore,
  name: ModelName,
  content: Uint8Array,
): Promise<ManifestPlace> {
  const place = (await findManifest(store, name)) ?? { store, name, path: pathOf(store, namePath(name)) };
  await refuseLinks(store, dirname(place.path));
  await using staged = await stageContent(store, [content]);
  await keepFile(staged.path, place.path);
  return place;
}

/** Removes the manifest and the folders that it leaves empty. Call it in the store's turn. */
export async function removeManifestFile({ store, path }: ManifestPlace): Promise<void> {
  await rm(path);
  await syncFolder(dirname(path));
  for (let folder = dirname(path); folder !== manifestsFolder(store); folder = dirname(folder)) {
    const isGone = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

function manifestsFolder({ root }: ModelStore): string {
  return join(root, "manifests");
}

function pathOf(store: ModelStore, parts: readonly string[]): string {
  return join(manifestsFolder(store), ...parts);
}

/** Undefined when the parts are no name; a host with a port has a colon, which only that place may have. */
function placeOf(store: ModelStore, parts: readonly string[]): ManifestPlace | undefined {
  const [host, namespace, model, tag] = parts;
  if (parts.length !== depth) return undefined;
  const name = readModelName(`${host}/${namespace}/${model}:${tag}`);
  const isSame = name !== undefined && namePath(name).every((part, index) => part === parts[index]);
  return isSame ? { store, name, path: pathOf(store, parts) } : undefined;
}

async function findParts(folder: string, wanted: readonly string[]): Promise<readonly string[] | undefined> {
  const [first, ...rest] = wanted;
  if (first === undefined) return [];
  const isLast = rest.length === 0;
  const lowered = first.toLowerCase();
  const alike = (await listFolder(folder))
    .filter((entry) => (isLast ? entry.isFile() : entry.isDirectory()))
    .map(({ name }) => name)
    .filter((name) => name.toLowerCase() === lowered)
    .toSorted((one) => (one === first ? -1 : 0));
  for (const name of alike) {
    const below = await findParts(join(folder, name), rest);
    if (below !== undefined) return [name, ...below];
  }
  return undefined;
}

/** A folder that is not there is empty; one that cannot be read is not. */
async function listFolder(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((problem: unknown) => {
    const code = problem instanceof Error && "code" in problem ? problem.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw problem;
  });
  return entries.filter(({ name }) => !name.startsWith("."));
}

/** A link among the folders of a name would lead the write out of the store. */
async function refuseLinks(store: ModelStore, folder: string): Promise<void> {
  const top = manifestsFolder(store);
  const realTop = await realpath(top);
  for (let current = folder; current !== top; current = dirname(current)) {
    const real = await realpath(current).catch(() => undefined);
    if (real !== undefined && real !== join(realTop, relative(top, current))) {
      throw modelFailure({ kind: "store-read-only" });
    }
  }
}
