/**
 * @module
 * The models on this machine: listing, describing, creating, copying and removing them. They are in stores with
 * Ollama's layout; the first store is ours and its names take precedence, the others are only read.
 * Guarantees that no name or digest leads out of a store, that a broken model never hides the others, and that only
 * what the caller named is removed. Independent of any wire protocol. Imported by dialects, `scheduling/` and `main`.
 */
import type { ModelFile } from "@hearth-and-keep/gguf";
import { LRUCache } from "lru-cache";
import { addUpload, type Upload } from "./add-upload.ts";
import { copyModel } from "./copy-model.ts";
import { type CreateModelRequest, type CreateStep, createModel } from "./create/create-model.ts";
import { findModel } from "./find-model.ts";
import { listModels, type ModelListing } from "./list-models.ts";
import {
  describeModel,
  type ModelDescription,
  type ModelSummary,
  resolveModelFile,
} from "./metadata/describe-model.ts";
import { cacheDescriptions } from "./metadata/description-cache.ts";
import { createHeaderReader, inspectModel } from "./metadata/header-reader.ts";
import { prune, type UnusedFile } from "./prune.ts";
import { type RemovedModel, removeModel } from "./remove-model.ts";
import { findBlob } from "./store/blob-store.ts";
import { parseDigest } from "./store/digest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

export type Catalog = {
  list(): Promise<ModelListing>;
  describe(name: string): Promise<ModelDescription>;
  /** The full header with tensors and vocabulary; not cached, because it is large. */
  inspect(name: string): Promise<ModelFile>;
  /** The full header of the model's projector; undefined when it has none. */
  inspectProjector(name: string): Promise<ModelFile | undefined>;
  copy(source: string, destination: string): Promise<void>;
  remove(name: string): Promise<RemovedModel>;
  /** Each step is yielded before it runs; the model exists once the iteration ends. */
  create(request: CreateModelRequest): AsyncIterable<CreateStep>;
  hasBlob(digest: string): Promise<boolean>;
  /** Stores content for a model that is created from it later. Throws when the content does not match the digest. */
  addUpload(digest: string, upload: Omit<Upload, "digest">): Promise<void>;
  /** Removes files of our own store that no model uses; with `dryRun` it only lists them. */
  prune(options: { readonly dryRun: boolean }): Promise<readonly UnusedFile[]>;
};

const maxCachedEntries = 4096;

export function createCatalog(stores: ModelStores): Catalog {
  const headers = createHeaderReader(maxCachedEntries);
  const summaries = new LRUCache<string, ModelSummary>({ max: maxCachedEntries });
  const describe = cacheDescriptions(stores[0], {
    find: (name) => findModel(stores, name),
    describe: (model) => describeModel(model, { stores, headers }),
  });
  return {
    list: () => listModels({ stores, headers, summaries }),
    describe,
    inspect: async (name) =>
      inspectModel((await resolveModelFile(stores, await findModel(stores, name))).path),
    inspectProjector: async (name) => {
      const [path] = (await describe(name)).projectorPaths;
      return path === undefined ? undefined : inspectModel(path);
    },
    copy: (source, destination) => copyModel(stores, source, destination),
    remove: (name) => removeModel(stores, name),
    prune: (options) => prune(stores, options),
    create: (request) => createModel(stores, request),
    hasBlob: async (digest) => (await findBlob(stores, { digest: parseDigest(digest) })) !== undefined,
    addUpload: (digest, upload) =>
      addUpload(writableStore(stores), { ...upload, digest: parseDigest(digest) }),
  };
}
