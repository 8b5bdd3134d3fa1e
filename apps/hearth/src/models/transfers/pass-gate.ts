import type { ModelFile } from "@hearth-and-keep/gguf";
import { inspectModel } from "../describing/header-reader.ts";
import { refusePrivateDialect } from "../describing/private-dialect.ts";
import { modelFailure } from "../model-failure.ts";
import { requireBlob } from "../store/blob-store.ts";
import { type Layer, layersOf } from "../store/manifest.ts";
import { openableModel } from "../store/model-path.ts";
import type { ModelStores } from "../store/model-store.ts";

export type PassedModel = { readonly header: ModelFile };

/** Every GGUF file of a model through the gate, before any name leads to it. */
export async function passGate(stores: ModelStores, layers: readonly Layer[]): Promise<PassedModel> {
  const manifest = { config: null, layers };
  const weights = layersOf(manifest, "model");
  const { path } = await openableModel(stores, weights);
  const header = await inspectModel(path);
  refusePrivateDialect(header);
  if ((header.split?.parts ?? 1) !== weights.length) {
    throw modelFailure({ kind: "model-file-invalid", reason: "The files are not the parts of one model" });
  }
  for (const layer of layersOf(manifest, "projector", "adapter")) {
    await inspectModel((await requireBlob(stores, layer)).path);
  }
  return { header };
}
