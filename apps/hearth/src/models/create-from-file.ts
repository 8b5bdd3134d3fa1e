import { basename } from "node:path";
import { inspectModel } from "./describing/header-reader.ts";
import { keepModel } from "./keep-model.ts";
import { layOutExtras, type ModelExtras } from "./model-extras.ts";
import { parseModelName } from "./model-name.ts";
import { makeLayer } from "./store/manifest.ts";
import { type ModelStores, writableStore } from "./store/model-store.ts";
import { stageFile } from "./store/stage-content.ts";

export type NewModel = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly file: string;
  readonly extras?: ModelExtras;
};

/** Puts a copy of a GGUF file into our own store under a name. Only a checked file is copied. */
export async function createFromFile(
  stores: ModelStores,
  { name: text, file, extras = {} }: NewModel,
): Promise<void> {
  const name = parseModelName(text);
  const store = writableStore(stores);
  const small = layOutExtras(extras);
  const header = await inspectModel(file);
  await using stack = new AsyncDisposableStack();
  const weights = [];
  for (const path of header.split?.paths ?? [file]) {
    const staged = stack.use(await stageFile(store, path));
    const layer = makeLayer("model", staged);
    weights.push({ staged, layer: header.split === null ? layer : { ...layer, name: basename(path) } });
  }
  await keepModel(stores, { name, header, extras: small, weights });
}
