import type { ModelFile } from "@hearth-and-keep/gguf";
import { modelFailure } from "../model-failure.ts";
import type { Layer } from "../store/manifest.ts";
import { openableModel } from "../store/model-path.ts";
import type { ModelStores } from "../store/model-store.ts";
import { inspectModel } from "./header-reader.ts";
import { refusePrivateDialect } from "./private-dialect.ts";

/** The header of one model that lies in these layers: one file, or every part of a split one, and none besides. */
export async function inspectWeights(stores: ModelStores, layers: readonly Layer[]): Promise<ModelFile> {
  const { path } = await openableModel(stores, layers);
  const header = await inspectModel(path);
  refusePrivateDialect(header);
  if ((header.split?.parts ?? 1) === layers.length) return header;
  throw modelFailure({ kind: "model-file-invalid", reason: "The files are not the parts of one model" });
}
