import { setTimeout as wait } from "node:timers/promises";
import { findModel } from "../find-model.ts";
import { type ModelName, parseModelName, readModelName } from "../model-name.ts";
import { openRegistry, type Registry, type RegistryParts } from "../registry/registry-client.ts";
import { placeOf, repositoryOf } from "../registry/registry-url.ts";
import { type Patience, refusalOf, tryAgain } from "../registry/retry-policy.ts";
import { uploadBlob } from "../registry/upload-blob.ts";
import { requireBlob } from "../store/blob-store.ts";
import { parseFields, textField } from "../store/json-fields.ts";
import { inOrderOfTransfer, type Layer } from "../store/manifest.ts";
import type { ModelStores } from "../store/model-store.ts";
import type { TransferProgress, TransferWish } from "./transfer.ts";

export type PushParts = RegistryParts & {
  readonly stores: ModelStores;
  readonly patience: Patience;
};

const progressMilliseconds = 60;
const manifestType = "application/vnd.docker.distribution.manifest.v2+json";

type Push = {
  readonly name: ModelName;
  readonly registry: Registry;
  readonly wish: TransferWish;
  readonly parts: PushParts;
};

/** Sends every blob that the registry lacks, and the manifest last: there is no moment when it names what is not there. */
export async function* pushModel(wish: TransferWish, parts: PushParts): AsyncGenerator<TransferProgress> {
  const name = parseModelName(wish.name);
  const place = placeOf(name, wish.isInsecure);
  yield { step: "reading-manifest" };
  const { manifest, content } = await findModel(parts.stores, wish.name);
  const registry = openRegistry(place, parts);
  const push: Push = { name, registry, wish, parts };
  const blobs = new Map(inOrderOfTransfer(manifest).map((blob) => [blob.digest, blob]));
  for (const layer of blobs.values()) yield* pushLayer(layer, push);
  yield { step: "writing-manifest" };
  await putManifest(content, push);
}

async function* pushLayer(layer: Layer, push: Push): AsyncGenerator<TransferProgress> {
  const { registry, parts } = push;
  const told = { step: "moving-layer", digest: layer.digest, totalBytes: layer.size } as const;
  yield told;
  const blob = await requireBlob(parts.stores, layer);
  // Whoever stops listening ends the upload too.
  const left = new AbortController();
  const signal = AbortSignal.any([push.wish.signal, left.signal]);
  const meter = { sentBytes: 0 };
  const uploading = uploadBlob(registry, {
    blob,
    meter,
    signal,
    patience: push.parts.patience,
    ...mountOf(layer, push),
  });
  try {
    while (!(await isSettled(uploading))) yield { ...told, completedBytes: meter.sentBytes };
    await uploading;
  } finally {
    left.abort();
    await uploading.catch(() => undefined);
  }
  yield { ...told, completedBytes: layer.size };
}

async function isSettled(work: Promise<void>): Promise<boolean> {
  const settled = work.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, wait(progressMilliseconds, false)]);
}

/** A layer that came from another model is there already when that model was pushed to the same registry. */
function mountOf({ from }: Layer, { name }: Push): { readonly mountFrom?: string } {
  const origin = from === undefined ? undefined : readModelName(from);
  if (origin === undefined || origin.host.toLowerCase() !== name.host.toLowerCase()) return {};
  const repository = repositoryOf(origin);
  return repository === repositoryOf(name) ? {} : { mountFrom: repository };
}

async function putManifest(content: Buffer, push: Push): Promise<void> {
  const { registry, name, wish } = push;
  const mediaType = textField(parseFields(content), "mediaType", 256) ?? manifestType;
  await tryAgain(
    async () => {
      await using answer = await registry.ask({
        target: `manifests/${name.tag}`,
        method: "PUT",
        headers: { "content-type": mediaType },
        body: content,
        actions: "pull,push",
        signal: wish.signal,
      });
      if (answer.status !== 201 && answer.status !== 200) throw await refusalOf(answer);
    },
    { patience: push.parts.patience, signal: wish.signal },
  );
}
