import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import type { BlobReference } from "./blob-store.ts";
import { parseJson } from "./parse-json.ts";
import { manifestSchema } from "./schema.ts";

export type Manifest = {
  readonly config: Layer | null;
  readonly layers: readonly Layer[];
};

export type Layer = BlobReference & {
  readonly mediaType: string;
  /** The model that this layer was inherited from. */
  readonly from?: string;
  /** The file name, set only on the shards of a split model. */
  readonly name?: string;
};

/** Suffixes of `application/vnd.ollama.image.…`; `prompt` is the former name of `template`. */
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

export const maxManifestBytes = 1024 * 1024;
export const manifestMediaType = "application/vnd.docker.distribution.manifest.v2+json";
const configMediaType = "application/vnd.docker.container.image.v1+json";
const layerPrefix = "application/vnd.ollama.image.";
const validator = Compile(manifestSchema);

type EncodedLayer = NonNullable<Static<typeof manifestSchema>["config"]>;

/** Throws SchemaError when the content is not a manifest. */
export function parseManifest(content: Uint8Array): Manifest {
  const { config, layers } = parseJson(content, validator);
  return { config: config ? toLayer(config) : null, layers: (layers ?? []).map(toLayer) };
}

/** Fields in the order in which Ollama encodes them. */
function toLayer({ mediaType, digest, size, from, name }: EncodedLayer): Layer {
  return {
    mediaType: mediaType ?? "",
    digest,
    size,
    ...(typeof from === "string" ? { from } : {}),
    ...(typeof name === "string" ? { name } : {}),
  };
}

/** Encodes JSON byte for byte as Go's encoder does, so that a layer has the same digest whichever program wrote it. */
export function encodeGoJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/gu, escapeCharacter)}\n`, "utf8");
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Encodes a manifest byte for byte as Ollama does; the SHA-256 of the result is the model's digest. */
export function encodeManifest({ config, layers }: Manifest): Buffer {
  return encodeGoJson({
    schemaVersion: 2,
    mediaType: manifestMediaType,
    config: config === null ? null : toLayer(config),
    layers: layers.map(toLayer),
  });
}

export function layersOf({ layers }: Manifest, ...kinds: readonly LayerKind[]): readonly Layer[] {
  const mediaTypes = new Set(kinds.map((kind) => layerPrefix + kind));
  return layers.filter(({ mediaType }) => mediaTypes.has(mediaType));
}

export function createLayer(kind: LayerKind, { digest, size }: BlobReference): Layer {
  return { mediaType: layerPrefix + kind, digest, size };
}

export function createConfigLayer({ digest, size }: BlobReference): Layer {
  return { mediaType: configMediaType, digest, size };
}

/** Every blob that a manifest references, including the configuration. */
export function blobsOf({ config, layers }: Manifest): readonly Layer[] {
  return config === null ? layers : [config, ...layers];
}

/** The same blobs in the order in which Ollama transfers and displays them: the configuration last. */
export function blobsInTransferOrder({ config, layers }: Manifest): readonly Layer[] {
  return config === null ? layers : [...layers, config];
}

export function totalBytes(manifest: Manifest): number {
  return blobsOf(manifest).reduce((sum, { size }) => sum + size, 0);
}
