import { modelFailure } from "../model-failure.ts";
import { displayModelName } from "../model-name.ts";
import { readBlob } from "../store/blob-store.ts";
import { type Digest, digestOf } from "../store/digest.ts";
import { type Layer, type Manifest, parseManifest } from "../store/manifest.ts";
import { type ManifestLocation, readManifestFile } from "../store/manifest-tree.ts";
import type { ModelStores } from "../store/model-store.ts";
import { SchemaError } from "../store/parse-json.ts";

/** A parsed manifest; its blobs may still be missing. */
export type StoredModel = {
  readonly location: ManifestLocation;
  readonly manifest: Manifest;
  readonly content: Buffer;
  /** SHA-256 of the manifest. */
  readonly digest: Digest;
  /** UTC, with the precision of the file system. */
  readonly modifiedAt: string;
};

export async function readStoredModel(location: ManifestLocation): Promise<StoredModel> {
  const { content, modifiedNanoseconds } = await readManifestFile(location);
  const manifest = mapSchemaError(location, () => parseManifest(content));
  return {
    location,
    manifest,
    content,
    digest: digestOf(content),
    modifiedAt: formatTime(modifiedNanoseconds),
  };
}

/** Reads and parses a small layer. The manifest's size is untrusted, so it is checked before anything is read. */
export async function readLayer<Value>(
  stores: ModelStores,
  { location, layer, maxBytes }: { location: ManifestLocation; layer: Layer; maxBytes: number },
  parse: (content: Buffer) => Value,
): Promise<Value> {
  if (layer.size > maxBytes) {
    const reason = `a layer has ${layer.size} bytes, which is more than ${maxBytes}`;
    throw modelFailure({ kind: "manifest-invalid", model: displayModelName(location.name), reason });
  }
  const content = await readBlob(stores, layer);
  return mapSchemaError(location, () => parse(content));
}

function mapSchemaError<Value>({ name }: ManifestLocation, parse: () => Value): Value {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof SchemaError)) throw cause;
    const failure = {
      kind: "manifest-invalid",
      model: displayModelName(name),
      reason: cause.message,
    } as const;
    throw modelFailure(failure, { cause });
  }
}

/** RFC 3339 without trailing zeros in the fraction, as Go formats it. */
export function formatTime(nanoseconds: bigint): string {
  const second = 1_000_000_000n;
  const whole = new Date(Number((nanoseconds / second) * 1000n)).toISOString().slice(0, -".000Z".length);
  const fraction = (nanoseconds % second).toString().padStart(9, "0").replace(/0+$/u, "");
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`;
}
