import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath, rm, rmdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName, namePath, tryParseModelName } from "../model-name.ts";
import { commitFile, syncFolder } from "./commit-file.ts";
import { maxManifestBytes } from "./manifest.ts";
import type { ModelStore } from "./model-store.ts";
import { writeStagedContent } from "./staged-content.ts";

/** The path of a manifest file; its content is not parsed yet. */
export type ManifestLocation = {
  readonly store: ModelStore;
  readonly name: ModelName;
  readonly path: string;
};

export type ManifestTree = {
  readonly locations: readonly ManifestLocation[];
  /** Files whose path is not a model name, relative to the folder of manifests. */
  readonly unexpectedPaths: readonly string[];
  /** A folder could not be read, or the limit of manifests was reached. */
  readonly isIncomplete: boolean;
};

export type ManifestFile = { readonly content: Buffer; readonly modifiedNanoseconds: bigint };

const maxManifests = 20_000;
const depth = 4;

/** Finds every manifest in a store. Symbolic links are not followed; names that begin with a dot are skipped. */
export async function walkManifests(store: ModelStore): Promise<ManifestTree> {
  const found: { components: readonly string[]; isFile: boolean }[] = [];
  let isIncomplete = false;
  async function walk(components: readonly string[]): Promise<void> {
    const entries = await listFolder(pathOf(store, components)).catch(() => {
      isIncomplete = true;
      return [];
    });
    await Promise.all(
      entries.map(async (entry) => {
        const path = [...components, entry.name];
        if (entry.isDirectory() && path.length < depth) return walk(path);
        if (found.length < maxManifests) found.push({ components: path, isFile: entry.isFile() });
        else isIncomplete = true;
      }),
    );
  }
  await walk([]);
  const located = found.map((entry) => ({
    ...entry,
    location: entry.isFile ? locationOf(store, entry.components) : undefined,
  }));
  return {
    locations: located.flatMap(({ location }) => (location === undefined ? [] : [location])),
    unexpectedPaths: located.flatMap(({ location, components }) =>
      location === undefined ? [components.join("/")] : [],
    ),
    isIncomplete,
  };
}

/** Finds the manifest of a name, ignoring case; an exact match wins. */
export async function findManifest(
  store: ModelStore,
  name: ModelName,
): Promise<ManifestLocation | undefined> {
  const components = await findComponents(manifestsFolder(store), namePath(name)).catch((error: unknown) => {
    // In a store that we write to, an unreadable folder must not make a name look free.
    if (store.access !== "read-only") throw error;
    return undefined;
  });
  return components === undefined ? undefined : locationOf(store, components);
}

/** Does not follow symbolic links and does not read files above the size limit. */
export async function readManifestFile({ path, name }: ManifestLocation): Promise<ManifestFile> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using file = await open(path, flags).catch((cause: unknown) => {
    throw modelFailure(
      { kind: "manifest-invalid", model: displayModelName(name), reason: "it cannot be read" },
      { cause },
    );
  });
  const status = await file.stat({ bigint: true });
  if (!status.isFile() || status.size > maxManifestBytes) {
    const reason = status.isFile()
      ? `it is larger than ${maxManifestBytes} bytes`
      : "it is not a regular file";
    throw modelFailure({ kind: "manifest-invalid", model: displayModelName(name), reason });
  }
  const bytes = Buffer.alloc(Number(status.size));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return { content: bytes.subarray(0, bytesRead), modifiedNanoseconds: status.mtimeNs };
}

/** Writes the manifest of a name, replacing one whose name differs only in case. Must run inside `runExclusive`. */
export async function writeManifestFile(
  store: ModelStore,
  name: ModelName,
  content: Uint8Array,
): Promise<ManifestLocation> {
  const location = (await findManifest(store, name)) ?? { store, name, path: pathOf(store, namePath(name)) };
  await rejectLinks(store, dirname(location.path));
  await using staged = await writeStagedContent(store, [content]);
  await commitFile(staged.path, location.path);
  return location;
}

/** Removes a manifest and the folders that become empty. Must run inside `runExclusive`. */
export async function removeManifestFile({ store, path }: ManifestLocation): Promise<void> {
  await rm(path);
  await syncFolder(dirname(path));
  for (let folder = dirname(path); folder !== manifestsFolder(store); folder = dirname(folder)) {
    const isRemoved = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

function manifestsFolder({ root }: ModelStore): string {
  return join(root, "manifests");
}

function pathOf(store: ModelStore, components: readonly string[]): string {
  return join(manifestsFolder(store), ...components);
}

/** Undefined when the components are not a model name. Only the host may contain a colon, before its port. */
function locationOf(store: ModelStore, components: readonly string[]): ManifestLocation | undefined {
  const [host, namespace, model, tag] = components;
  if (components.length !== depth) return undefined;
  const name = tryParseModelName(`${host}/${namespace}/${model}:${tag}`);
  const isSame =
    name !== undefined && namePath(name).every((component, index) => component === components[index]);
  return isSame ? { store, name, path: pathOf(store, components) } : undefined;
}

async function findComponents(
  folder: string,
  wanted: readonly string[],
): Promise<readonly string[] | undefined> {
  const [first, ...rest] = wanted;
  if (first === undefined) return [];
  const isLast = rest.length === 0;
  const lowerCase = first.toLowerCase();
  const candidates = (await listFolder(folder))
    .filter((entry) => (isLast ? entry.isFile() : entry.isDirectory()))
    .map(({ name }) => name)
    .filter((name) => name.toLowerCase() === lowerCase)
    .toSorted((one) => (one === first ? -1 : 0));
  for (const name of candidates) {
    const below = await findComponents(join(folder, name), rest);
    if (below !== undefined) return [name, ...below];
  }
  return undefined;
}

/** A folder that does not exist is empty; a folder that cannot be read is an error. */
async function listFolder(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  });
  return entries.filter(({ name }) => !name.startsWith("."));
}

/** Rejects symbolic links among a name's folders, which would redirect a write out of the store. */
async function rejectLinks(store: ModelStore, folder: string): Promise<void> {
  const top = manifestsFolder(store);
  const realTop = await realpath(top);
  for (let current = folder; current !== top; current = dirname(current)) {
    const real = await realpath(current).catch(() => undefined);
    if (real !== undefined && real !== join(realTop, relative(top, current))) {
      throw modelFailure({ kind: "store-read-only" });
    }
  }
}
