import type { BlobReference } from "./blob-store.ts";
import { type Digest, readDigest } from "./digest.ts";
import {
  asFields,
  type JsonFields,
  listField,
  parseFields,
  ShapeError,
  textField,
  wholeField,
} from "./json-fields.ts";
import { writeJson } from "./write-json.ts";

export type Manifest = {
  readonly config: Layer | null;
  readonly layers: readonly Layer[];
};

export type Layer = BlobReference & {
  readonly mediaType: string;
  /** The model that the layer was taken from. */
  readonly from?: string;
  /** The file's name, where it matters: the parts of a split model. */
  readonly name?: string;
};

/** Ends of `application/vnd.ollama.image.…`; `prompt` is an old word for `template`. */
export type LayerKind =
  | "model"
  | "projector"
  | "adapter"
  | "template"
  | "prompt"
  | "system"
  | "params"
  | "messages"
  | "license";

export const mostManifestBytes = 1024 * 1024;
const mostLayers = 8192;
const longestText = 1024;
const mostBlobBytes = 2 ** 50;
const layerPrefix = "application/vnd.ollama.image.";
const configMediaType = "application/vnd.docker.container.image.v1+json";

/** Throws ShapeError when the bytes are no manifest. */
export function parseManifest(content: Uint8Array): Manifest {
  const fields = parseFields(content);
  if (wholeField(fields, "schemaVersion", 1000) !== 2) throw new ShapeError('"schemaVersion" is not 2');
  const { config } = fields;
  return {
    config: config === undefined || config === null ? null : parseLayer(config),
    layers: listField(fields, "layers", mostLayers).map(parseLayer),
  };
}

function parseLayer(value: unknown): Layer {
  const fields = asFields(value, "a layer");
  const from = textField(fields, "from", longestText);
  const name = textField(fields, "name", longestText);
  const size = wholeField(fields, "size", mostBlobBytes);
  if (size === undefined) throw new ShapeError("a layer has no size");
  return {
    mediaType: textField(fields, "mediaType", longestText) ?? "",
    digest: parseLayerDigest(fields),
    size,
    ...(from === undefined ? {} : { from }),
    ...(name === undefined ? {} : { name }),
  };
}

function parseLayerDigest(fields: JsonFields): Digest {
  const digest = readDigest(textField(fields, "digest", longestText) ?? "");
  if (digest === undefined) throw new ShapeError("a layer has no valid digest");
  return digest;
}

/** The bytes that Ollama would write; their sha256 is the model's digest. */
export function writeManifest({ config, layers }: Manifest): Buffer {
  return writeJson({
    schemaVersion: 2,
    mediaType: "application/vnd.docker.distribution.manifest.v2+json",
    config: config === null ? null : orderLayer(config),
    layers: layers.map(orderLayer),
  });
}

function orderLayer({ mediaType, digest, size, from, name }: Layer): Layer {
  return {
    mediaType,
    digest,
    size,
    ...(from === undefined ? {} : { from }),
    ...(name === undefined ? {} : { name }),
  };
}

export function layersOf({ layers }: Manifest, ...kinds: readonly LayerKind[]): readonly Layer[] {
  const wanted = new Set(kinds.map((kind) => layerPrefix + kind));
  return layers.filter(({ mediaType }) => wanted.has(mediaType));
}

export function makeLayer(kind: LayerKind, blob: BlobReference): Layer {
  return { mediaType: layerPrefix + kind, digest: blob.digest, size: blob.size };
}

export function makeConfigLayer({ digest, size }: BlobReference): Layer {
  return { mediaType: configMediaType, digest, size };
}

/** Every blob a manifest names, its configuration too. */
export function blobsOf({ config, layers }: Manifest): readonly Layer[] {
  return config === null ? layers : [config, ...layers];
}

/** The same in the order in which programs of this layout send and show them. */
export function inOrderOfTransfer({ config, layers }: Manifest): readonly Layer[] {
  return config === null ? layers : [...layers, config];
}

export function sizeOf(manifest: Manifest): number {
  return blobsOf(manifest).reduce((sum, { size }) => sum + size, 0);
}
