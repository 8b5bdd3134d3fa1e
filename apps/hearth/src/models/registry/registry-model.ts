import { Compile } from "typebox/compile";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName } from "../model-name.ts";
import { digestOf } from "../store/digest.ts";
import {
  blobsInTransferOrder,
  layersOf,
  type Manifest,
  manifestMediaType,
  maxManifestBytes,
  parseManifest,
} from "../store/manifest.ts";
import { parseJson, SchemaError } from "../store/parse-json.ts";
import type { RemoteBlob } from "./blob-source.ts";
import { withDeadline } from "./deadline.ts";
import { listShards } from "./hub-shards.ts";
import { readBody } from "./map-outbound-error.ts";
import type { Registry } from "./registry-client.ts";
import { type RetryOptions, retry, unexpectedStatus } from "./retry-policy.ts";
import { imageIndexSchema } from "./schema.ts";
import { translateLayers } from "./translate-layers.ts";

export type RegistryModel = {
  /** In download order: the configuration last. */
  readonly blobs: readonly RemoteBlob[];
  /** The manifest to store unchanged; null when it is in another format and must be written from scratch. */
  readonly original: { readonly manifest: Manifest; readonly content: Buffer } | null;
};

const acceptedTypes = [
  manifestMediaType,
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.cncf.model.manifest.v1+json",
  "application/vnd.oci.image.index.v1+json",
].join(", ");
const maxErrorBytes = 64 * 1024;
const indexValidator = Compile(imageIndexSchema);

/** Fetches and parses the manifest of a name. Only its structure is validated; the blobs are untrusted. */
export async function fetchRegistryModel(
  registry: Registry,
  name: ModelName,
  options: RetryOptions,
): Promise<RegistryModel> {
  const content = await fetchManifest(registry, name, options);
  if (content === "sharded") return { blobs: await listShards(registry, name, options), original: null };
  if (name.digest !== null && digestOf(content) !== name.digest) {
    throw modelFailure({ kind: "transfer-corrupted", digest: name.digest });
  }
  try {
    return parseRegistryModel(await resolveIndex(registry, content, { name, options }));
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const reason = `its manifest is not a model: ${error.message}`;
    throw modelFailure({ kind: "registry-response-invalid", host: registry.host, reason }, { cause: error });
  }
}

/** The Hugging Face Hub has no manifest for a model in several files and responds with an error that says so. */
async function fetchManifest(
  registry: Registry,
  name: ModelName,
  options: RetryOptions,
): Promise<Buffer | "sharded"> {
  const fetchOnce = (signal: AbortSignal) => requestManifest(registry, name, signal);
  return retry(() => withDeadline({ host: registry.host, signal: options.signal }, fetchOnce), options);
}

async function requestManifest(
  registry: Registry,
  name: ModelName,
  signal: AbortSignal,
): Promise<Buffer | "sharded"> {
  await using response = await registry.request({
    target: `manifests/${name.digest ?? name.tag}`,
    headers: { accept: acceptedTypes },
    maxRedirects: 3,
    signal,
  });
  if (response.status === 200) return await readBody(response, maxManifestBytes);
  if (response.status === 404) {
    throw modelFailure({ kind: "remote-model-not-found", model: displayModelName(name) });
  }
  if (response.status === 400 && (await readBody(response, maxErrorBytes)).includes("sharded")) {
    return "sharded";
  }
  throw await unexpectedStatus(response);
}

/** Follows an image index with one entry; with several entries only a digest can select one. */
async function resolveIndex(
  registry: Registry,
  content: Buffer,
  { name, options }: { readonly name: ModelName; readonly options: RetryOptions },
): Promise<Buffer> {
  const { manifests } = parseJson(content, indexValidator);
  const [first, ...others] = manifests ?? [];
  if (first === undefined) return content;
  if (others.length > 0) throw new SchemaError("it lists several manifests; specify one by its digest");
  const { digest } = first;
  const manifest = await fetchManifest(registry, { ...name, digest }, options);
  if (manifest === "sharded" || digestOf(manifest) !== digest) {
    throw modelFailure({ kind: "transfer-corrupted", digest });
  }
  return manifest;
}

function parseRegistryModel(content: Buffer): RegistryModel {
  const manifest = parseManifest(content);
  const isOllamaFormat = layersOf(manifest, "model").length > 0;
  const layers = isOllamaFormat ? manifest.layers : translateLayers(content);
  if (layersOf({ config: null, layers }, "model").length === 0) throw new SchemaError("it has no GGUF file");
  const blobs = isOllamaFormat ? blobsInTransferOrder(manifest) : layers;
  return {
    blobs: blobs.map((layer) => ({ ...layer, target: `blobs/${layer.digest}` })),
    original: isOllamaFormat ? { manifest, content } : null,
  };
}
