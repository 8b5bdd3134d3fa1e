import { modelFailure } from "../model-failure.ts";
import { displayModelName } from "../model-name.ts";
import { readBlob } from "../store/blob-store.ts";
import { type Digest, digestOf } from "../store/digest.ts";
import { ShapeError } from "../store/json-fields.ts";
import { type Layer, type Manifest, parseManifest } from "../store/manifest.ts";
import { type ManifestPlace, readManifestFile } from "../store/manifest-tree.ts";
import type { ModelStores } from "../store/model-store.ts";

/** A manifest that was read; its layers may still be missing. */
export type StoredModel = {
  readonly place: ManifestPlace;
  readonly manifest: Manifest;
  readonly content: Buffer;
  /** Of the manifest's bytes. */
  readonly digest: Digest;
  /** In UTC, with as many digits as the file system keeps. */
  readonly modifiedAt: string;
};

export async function readStoredModel(place: ManifestPlace): Promise<StoredModel> {
  const { content, modifiedNanoseconds } = await readManifestFile(place);
  const manifest = explainShape(place, () => parseManifest(content));
  return { place, manifest, content, digest: digestOf(content), modifiedAt: formatTime(modifiedNanoseconds) };
}

/** A small layer through its parser. The size is the manifest's word, so it is bounded before anything is read. */
export async function readLayer<Value>(
  stores: ModelStores,
  { place, layer, mostBytes }: { place: ManifestPlace; layer: Layer; mostBytes: number },
  parse: (content: Buffer) => Value,
): Promise<Value> {
  if (layer.size > mostBytes) {
    const reason = `a layer of ${layer.size} bytes is longer than ${mostBytes}`;
    throw modelFailure({ kind: "manifest-invalid", model: displayModelName(place.name), reason });
  }
  const content = await readBlob(stores, layer);
  return explainShape(place, () => parse(content));
}

function explainShape<Value>({ name }: ManifestPlace, parse: () => Value): Value {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof ShapeError)) throw cause;
    const failure = {
      kind: "manifest-invalid",
      model: displayModelName(name),
      reason: cause.message,
    } as const;
    throw modelFailure(failure, { cause });
  }
}

/** RFC 3339 with the trailing zeros of the fraction left out, as Go writes it. */
export function formatTime(nanoseconds: bigint): string {
  const second = 1_000_000_000n;
  const whole = new Date(Number((nanoseconds / second) * 1000n)).toISOString().slice(0, -".000Z".length);
  const fraction = (nanoseconds % second).toString().padStart(9, "0").replace(/0+$/u, "");
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`;
}
