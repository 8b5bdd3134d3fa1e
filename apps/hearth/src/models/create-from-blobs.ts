import { inspectModel } from "./describing/header-reader.ts";
import { keepModel } from "./keep-model.ts";
import { layOutExtras, type ModelExtras } from "./model-extras.ts";
import { modelFailure } from "./model-failure.ts";
import { parseModelName } from "./model-name.ts";
import { findBlob } from "./store/blob-store.ts";
import { parseDigest } from "./store/digest.ts";
import { type Layer, makeLayer } from "./store/manifest.ts";
import { openableModel } from "./store/model-path.ts";
import type { ModelStores } from "./store/model-store.ts";

export type NewModelOfBlobs = {
  readonly name: string;
  /** Digests of blobs by the names of their files: one GGUF file, or every part of a split one. */
  readonly files: ReadonlyMap<string, string>;
  readonly extras?: ModelExtras;
};

const mostFiles = 4096;

/** Makes a model of blobs that were stored before, as an upload leaves them. They pass the gate here. */
export async function createFromBlobs(
  stores: ModelStores,
  { name: text, files, extras = {} }: NewModelOfBlobs,
): Promise<void> {
  const name = parseModelName(text);
  const small = layOutExtras(extras);
  if (files.size === 0 || files.size > mostFiles) {
    throw modelFailure({ kind: "model-file-invalid", reason: `A model has from 1 to ${mostFiles} files` });
  }
  const layers: Layer[] = [];
  for (const [file, digest] of files) layers.push(await findLayer(stores, file, digest));
  const isSplit = layers.length > 1;
  const { path } = await openableModel(stores, layers);
  const header = await inspectModel(path);
  if ((header.split?.parts ?? 1) !== layers.length) {
    throw modelFailure({ kind: "model-file-invalid", reason: "The files are not the parts of one model" });
  }
  const weights = layers.map(({ name: file, ...layer }) => ({
    layer: isSplit && file !== undefined ? { ...layer, name: file } : layer,
  }));
  await keepModel(stores, { name, header, extras: small, weights });
}

async function findLayer(stores: ModelStores, file: string, text: string): Promise<Layer> {
  const found = await findBlob(stores, { digest: parseDigest(text) });
  if (found === undefined) throw modelFailure({ kind: "blob-missing", digest: text });
  return { ...makeLayer("model", found), name: file.slice(-255) };
}
