import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName } from "../model-name.ts";
import { digestOf } from "../store/digest.ts";
import { listField, parseFields, ShapeError } from "../store/json-fields.ts";
import {
  inOrderOfTransfer,
  layersOf,
  type Manifest,
  mostManifestBytes,
  parseManifest,
} from "../store/manifest.ts";
import type { RemoteBlob } from "./blob-source.ts";
import { beforeDeadline } from "./deadline.ts";
import { listShards } from "./hub-shards.ts";
import { readWhole } from "./map-outbound-error.ts";
import type { Registry } from "./registry-client.ts";
import { type FetchPlan, refusalOf, tryAgain } from "./retry-policy.ts";
import { translateLayers } from "./translate-layers.ts";

export type RemoteModel = {
  /** In the order in which they are fetched: the configuration last. */
  readonly blobs: readonly RemoteBlob[];
  /** The manifest to keep, byte by byte; null where it is in other words than ours and must be written anew. */
  readonly original: { readonly manifest: Manifest; readonly content: Buffer } | null;
};

const acceptedTypes = [
  "application/vnd.docker.distribution.manifest.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.cncf.model.manifest.v1+json",
  "application/vnd.oci.image.index.v1+json",
].join(", ");
const mostVariants = 1024;
const mostExplanationBytes = 64 * 1024;

/** What a name stands for at its registry. Nothing of it is believed but its shape. */
export async function fetchRemoteModel(
  registry: Registry,
  name: ModelName,
  plan: FetchPlan,
): Promise<RemoteModel> {
  const found = await fetchManifest(registry, name, plan);
  if (found === "in-parts") return { blobs: await listShards(registry, name, plan), original: null };
  if (name.digest !== null && digestOf(found) !== name.digest) {
    throw modelFailure({ kind: "transfer-damaged", digest: name.digest });
  }
  try {
    return readRemoteModel(await chooseVariant(registry, found, { name, plan }));
  } catch (problem) {
    if (!(problem instanceof ShapeError)) throw problem;
    const reason = `its manifest is no model: ${problem.message}`;
    throw modelFailure({ kind: "registry-answer-invalid", host: registry.host, reason }, { cause: problem });
  }
}

/** A hub has no manifest for a model in several files, and says so. */
async function fetchManifest(
  registry: Registry,
  name: ModelName,
  plan: FetchPlan,
): Promise<Buffer | "in-parts"> {
  const ask = (signal: AbortSignal) => askManifest(registry, name, signal);
  return tryAgain(() => beforeDeadline({ host: registry.host, signal: plan.signal }, ask), plan);
}

async function askManifest(
  registry: Registry,
  name: ModelName,
  signal: AbortSignal,
): Promise<Buffer | "in-parts"> {
  await using answer = await registry.ask({
    target: `manifests/${name.digest ?? name.tag}`,
    headers: { accept: acceptedTypes },
    mostRedirects: 3,
    signal,
  });
  if (answer.status === 200) return await readWhole(answer, mostManifestBytes);
  if (answer.status === 404) {
    throw modelFailure({ kind: "remote-model-missing", model: displayModelName(name) });
  }
  if (answer.status === 400 && (await readWhole(answer, mostExplanationBytes)).includes("sharded")) {
    return "in-parts";
  }
  throw await refusalOf(answer);
}

/** A list of manifests is followed when it lists one; which of several is meant, only a digest can say. */
async function chooseVariant(
  registry: Registry,
  content: Buffer,
  { name, plan }: { readonly name: ModelName; readonly plan: FetchPlan },
): Promise<Buffer> {
  const variants = listField(parseFields(content), "manifests", mostVariants);
  if (variants.length === 0) return content;
  if (variants.length > 1) throw new ShapeError("it is a list of several; name one by its digest");
  const { layers } = parseManifest(Buffer.from(JSON.stringify({ schemaVersion: 2, layers: variants })));
  const digest = layers[0]?.digest ?? null;
  const only = await fetchManifest(registry, { ...name, digest }, plan);
  if (only === "in-parts" || digestOf(only) !== digest) {
    throw modelFailure({ kind: "transfer-damaged", digest: digest ?? "" });
  }
  return only;
}

function readRemoteModel(content: Buffer): RemoteModel {
  const manifest = parseManifest(content);
  const isOurs = layersOf(manifest, "model").length > 0;
  const layers = isOurs ? manifest.layers : translateLayers(content);
  if (layersOf({ config: null, layers }, "model").length === 0) throw new ShapeError("it has no GGUF file");
  const blobs = isOurs ? inOrderOfTransfer(manifest) : layers;
  return {
    blobs: blobs.map((layer) => ({ ...layer, target: `blobs/${layer.digest}` })),
    original: isOurs ? { manifest, content } : null,
  };
}
