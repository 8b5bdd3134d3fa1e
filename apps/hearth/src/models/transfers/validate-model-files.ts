import type { ModelFile } from "@hearth-and-keep/gguf";
import { inspectModel } from "../metadata/header-reader.ts";
import { inspectWeights } from "../metadata/inspect-weights.ts";
import { requireBlob } from "../store/blob-store.ts";
import { type Layer, layersOf } from "../store/manifest.ts";
import type { ModelStores } from "../store/model-store.ts";

/** Validates every GGUF file of a model before a name refers to it; returns the model's header. */
export async function validateModelFiles(stores: ModelStores, layers: readonly Layer[]): Promise<ModelFile> {
  const manifest = { config: null, layers };
  const header = await inspectWeights(stores, layersOf(manifest, "model"));
  for (const layer of layersOf(manifest, "projector", "adapter")) {
    await inspectModel((await requireBlob(stores, layer)).path);
  }
  return header;
}
