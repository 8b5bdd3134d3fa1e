/**
 * @module
 * The models on this machine: their names, what each is, and how one is made, copied and removed. They lie in
 * stores of Ollama's layout; the first is ours, those below it are only read, and a name in ours wins.
 * Promises that no name and no digest leads out of a store, that a broken model never hides the others, and that
 * nothing is removed but what the caller named. Knows no protocol. Imported by dialects, `scheduling/` and `main`.
 */
import type { ModelFile } from "@hearth-and-keep/gguf";
import { copyModel } from "./copy-model.ts";
import { type CreatingStep, createModel, type ModelOrder } from "./create/create-model.ts";
import { findModel } from "./find-model.ts";
import { listModels, type ModelListing } from "./list-models.ts";
import {
  describeModel,
  type ModelDescription,
  type ModelSummary,
  openModel,
} from "./metadata/describe-model.ts";
import { createHeaderReader, inspectModel } from "./metadata/header-reader.ts";
import { LeastRecentlyUsed } from "./metadata/least-recently-used.ts";
import { rememberDescriptions } from "./metadata/remember-descriptions.ts";
import { prune, type UnusedFile } from "./prune.ts";
import { type RemovedModel, removeModel } from "./remove-model.ts";
import { addBlob, findBlob } from "./store/blob-store.ts";
import { parseDigest } from "./store/digest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";

export type Catalog = {
  list(): Promise<ModelListing>;
  describe(name: string): Promise<ModelDescription>;
  /** The whole header, tensors and vocabulary too: read anew each time, because it is large. */
  inspect(name: string): Promise<ModelFile>;
  /** The same of what makes images out for the model; undefined for one that has no such file. */
  inspectProjector(name: string): Promise<ModelFile | undefined>;
  copy(source: string, destination: string): Promise<void>;
  remove(name: string): Promise<RemovedModel>;
  /** What is told comes before the model is there; after the last step it is. */
  create(order: ModelOrder): AsyncIterable<CreatingStep>;
  hasBlob(digest: string): Promise<boolean>;
  /** Keeps content for a model that is made of it later. Throws when it is not what the digest says. */
  addBlob(digest: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** What no model needs goes from our own store; or is only told. */
  prune(plan: { readonly dryRun: boolean }): Promise<readonly UnusedFile[]>;
};

const mostRemembered = 4096;

export function createCatalog(stores: ModelStores): Catalog {
  const headers = createHeaderReader(mostRemembered);
  const summaries = new LeastRecentlyUsed<ModelSummary>(mostRemembered);
  const describe = rememberDescriptions(stores[0], {
    find: (name) => findModel(stores, name),
    describe: (model) => describeModel(model, { stores, headers }),
  });
  return {
    list: () => listModels({ stores, headers, summaries }),
    describe,
    inspect: async (name) => inspectModel((await openModel(stores, await findModel(stores, name))).path),
    inspectProjector: async (name) => {
      const [path] = (await describe(name)).projectorPaths;
      return path === undefined ? undefined : inspectModel(path);
    },
    copy: (source, destination) => copyModel(stores, source, destination),
    remove: (name) => removeModel(stores, name),
    prune: (plan) => prune(stores, plan),
    create: (order) => createModel(stores, order),
    hasBlob: async (digest) => (await findBlob(stores, { digest: parseDigest(digest) })) !== undefined,
    addBlob: async (digest, content) =>
      void (await addBlob(writableStore(stores), parseDigest(digest), content)),
  };
}
