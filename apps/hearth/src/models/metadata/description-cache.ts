import { LRUCache } from "lru-cache";
import type { ModelStore } from "../store/model-store.ts";
import type { ModelDescription } from "./describe-model.ts";
import { readFileStamp } from "./file-stamp.ts";
import type { StoredModel } from "./stored-model.ts";

type CachedDescription = { readonly description: ModelDescription; readonly stamps: readonly FileStamp[] };
/** A file and its stamp at the time it was read. */
type FileStamp = { readonly path: string; readonly stamp: string };

const maxCachedDescriptions = 256;

export type DescribeSteps = {
  readonly find: (name: string) => Promise<StoredModel>;
  readonly describe: (model: StoredModel) => Promise<ModelDescription>;
};

/**
 * Caches descriptions until the manifest or a file of the model changes, because every request needs one. Only models
 * of the first store are cached: a model of a later store can be shadowed by a new name in the first at any time.
 */
export function cacheDescriptions(
  firstStore: ModelStore,
  { find, describe }: DescribeSteps,
): (name: string) => Promise<ModelDescription> {
  const cache = new LRUCache<string, CachedDescription>({ max: maxCachedDescriptions });
  return async (name) => {
    const cached = cache.get(name);
    if (cached !== undefined && (await isUnchanged(cached.stamps))) return cached.description;
    cache.delete(name);
    const model = await find(name);
    const manifest = { path: model.location.path, stamp: await stampOf(model.location.path) };
    const description = await describe(model);
    if (model.location.store === firstStore) {
      const files = filesOf(description).map(async (path) => ({ path, stamp: await stampOf(path) }));
      const stamps = [manifest, ...(await Promise.all(files))];
      cache.set(name, { description, stamps });
    }
    return description;
  };
}

function filesOf({ modelPath, projectorPaths, adapterPaths }: ModelDescription): readonly string[] {
  return [modelPath, ...projectorPaths, ...adapterPaths];
}

async function isUnchanged(stamps: readonly FileStamp[]): Promise<boolean> {
  const current = await Promise.all(stamps.map(({ path }) => stampOf(path)));
  return current.every((stamp, index) => stamp === stamps[index]?.stamp);
}

/** Empty when the file does not exist. */
function stampOf(path: string): Promise<string> {
  return readFileStamp(path).catch(() => "");
}
