import type { ModelFile } from "@hearth-and-keep/gguf";
import { modelFailure } from "../model-failure.ts";
import { requireBlob } from "../store/blob-store.ts";
import { type Layer, layersOf } from "../store/manifest.ts";
import { resolveModelFiles } from "../store/model-path.ts";
import type { ModelStores } from "../store/model-store.ts";
import { inspectModel } from "./header-reader.ts";
import { rejectPrivateDialect } from "./private-dialect.ts";

/** The header of the model in these layers, which must be one file or exactly the shards of one split model. */
export async function inspectWeights(stores: ModelStores, layers: readonly Layer[]): Promise<ModelFile> {
  const { path } = await resolveModelFiles(stores, layers);
  const header = await inspectModel(path);
  rejectPrivateDialect(header);
  if ((header.split?.partCount ?? 1) === layers.length) return header;
  throw modelFailure({ kind: "model-file-invalid", reason: "The files are not the shards of one model" });
}

/** Validates every GGUF file of a model before a name refers to it; returns the model's header. */
export async function validateModelFiles(stores: ModelStores, layers: readonly Layer[]): Promise<ModelFile> {
  const manifest = { config: null, layers };
  const header = await inspectWeights(stores, layersOf(manifest, "model"));
  for (const layer of layersOf(manifest, "projector", "adapter")) {
    await inspectModel((await requireBlob(stores, layer)).path);
  }
  return header;
}
