import { setTimeout as sleep } from "node:timers/promises";
import { Compile } from "typebox/compile";
import { findModel } from "../find-model.ts";
import { type ModelName, parseModelName, tryParseModelName } from "../model-name.ts";
import { openRegistry, type Registry, type RegistryDependencies } from "../registry/registry-client.ts";
import { registryAddressOf, repositoryOf } from "../registry/registry-url.ts";
import { type RetryPolicy, retry, unexpectedStatus } from "../registry/retry-policy.ts";
import { uploadBlob } from "../registry/upload-blob.ts";
import { requireBlob } from "../store/blob-store.ts";
import { blobsInTransferOrder, type Layer, manifestMediaType } from "../store/manifest.ts";
import type { ModelStores } from "../store/model-store.ts";
import { parseJson } from "../store/parse-json.ts";
import { mediaTypeSchema } from "./schema.ts";
import type { TransferProgress, TransferRequest } from "./transfer.ts";

export type PushDependencies = RegistryDependencies & {
  readonly stores: ModelStores;
  readonly retryPolicy: RetryPolicy;
};

const progressIntervalMilliseconds = 60;
const mediaTypeValidator = Compile(mediaTypeSchema);

type Push = {
  readonly name: ModelName;
  readonly registry: Registry;
  readonly request: TransferRequest;
  readonly dependencies: PushDependencies;
};

/** Uploads every blob that the registry lacks, and the manifest last, so that it never references a missing blob. */
export async function* pushModel(
  request: TransferRequest,
  dependencies: PushDependencies,
): AsyncGenerator<TransferProgress> {
  const name = parseModelName(request.name);
  const address = registryAddressOf(name, request.isInsecure);
  yield { step: "reading-manifest" };
  const { manifest, content } = await findModel(dependencies.stores, request.name);
  const registry = openRegistry(address, dependencies);
  const push: Push = { name, registry, request, dependencies };
  const blobs = new Map(blobsInTransferOrder(manifest).map((blob) => [blob.digest, blob]));
  for (const layer of blobs.values()) yield* pushLayer(layer, push);
  yield { step: "writing-manifest" };
  await putManifest(content, push);
}

async function* pushLayer(layer: Layer, push: Push): AsyncGenerator<TransferProgress> {
  const { registry, request, dependencies } = push;
  const progress = { step: "transferring-layer", digest: layer.digest, totalBytes: layer.size } as const;
  yield progress;
  const blob = await requireBlob(dependencies.stores, layer);
  // Aborted when the consumer stops iterating.
  const stopped = new AbortController();
  const uploadProgress = { sentBytes: 0 };
  const uploading = uploadBlob(registry, {
    blob,
    progress: uploadProgress,
    signal: AbortSignal.any([request.signal, stopped.signal]),
    retryPolicy: dependencies.retryPolicy,
    ...mountSourceOf(layer, push),
  });
  try {
    while (!(await isSettled(uploading))) yield { ...progress, completedBytes: uploadProgress.sentBytes };
    await uploading;
  } finally {
    stopped.abort();
    await uploading.catch(() => undefined);
  }
  yield { ...progress, completedBytes: layer.size };
}

async function isSettled(work: Promise<void>): Promise<boolean> {
  const settled = work.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, sleep(progressIntervalMilliseconds, false)]);
}

/** An inherited layer can be mounted from its base model, if that is on the same registry. */
function mountSourceOf({ from }: Layer, { name }: Push): { readonly mountFrom?: string } {
  const base = from === undefined ? undefined : tryParseModelName(from);
  if (base === undefined || base.host.toLowerCase() !== name.host.toLowerCase()) return {};
  const repository = repositoryOf(base);
  return repository === repositoryOf(name) ? {} : { mountFrom: repository };
}

async function putManifest(content: Buffer, { registry, name, request, dependencies }: Push): Promise<void> {
  const mediaType = parseJson(content, mediaTypeValidator).mediaType ?? manifestMediaType;
  await retry(
    async () => {
      await using response = await registry.request({
        target: `manifests/${name.tag}`,
        method: "PUT",
        headers: { "content-type": mediaType },
        body: content,
        actions: "pull,push",
        signal: request.signal,
      });
      if (response.status !== 201 && response.status !== 200) throw await unexpectedStatus(response);
    },
    { retryPolicy: dependencies.retryPolicy, signal: request.signal },
  );
}
