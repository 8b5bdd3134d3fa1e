import { stat } from "node:fs/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { ModelFile } from "@hearth-and-keep/gguf";
import { encodeConfig } from "../metadata/config-blob.ts";
import { describeModel } from "../metadata/describe-model.ts";
import { createHeaderReader } from "../metadata/header-reader.ts";
import { validateModelFiles } from "../metadata/inspect-weights.ts";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, isCloudName, type ModelName, parseModelName } from "../model-name.ts";
import { openBlobSource, type RemoteBlob } from "../registry/blob-source.ts";
import { openRegistry, type Registry, type RegistryDependencies } from "../registry/registry-client.ts";
import { fetchRegistryModel, type RegistryModel } from "../registry/registry-model.ts";
import { registryAddressOf } from "../registry/registry-url.ts";
import { removeUnusedBlobs } from "../remove-unused-blobs.ts";
import { replaceManifest } from "../replace-manifest.ts";
import { commitBlob, digestPath, findBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { createConfigLayer, encodeManifest } from "../store/manifest.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { readDisk } from "../store/read-disk.ts";
import { writeStagedContent } from "../store/staged-content.ts";
import type { VerifiedBlobs } from "../store/verified-blobs.ts";
import { type DownloadDependencies, downloadBlob } from "./download-blob.ts";
import type { SharedDownloads } from "./shared-downloads.ts";
import type { TransferProgress, TransferRequest } from "./transfer.ts";

export type PullDependencies = RegistryDependencies &
  DownloadDependencies & {
    readonly stores: ModelStores;
    readonly downloads: SharedDownloads;
    readonly verified: VerifiedBlobs;
  };

/** A blob can vanish when another model that shares it is deleted during the pull; then it is fetched again. */
const maxAttempts = 3;

export async function* pullModel(
  request: TransferRequest,
  dependencies: PullDependencies,
): AsyncGenerator<TransferProgress> {
  const { signal } = request;
  const name = parseModelName(request.name);
  if (isCloudName(name)) throw modelFailure({ kind: "model-remote", model: displayModelName(name) });
  const address = registryAddressOf(name, request.isInsecure);
  writableStore(dependencies.stores);
  yield { step: "reading-manifest" };
  const registry = openRegistry(address, dependencies);
  const { retryPolicy } = dependencies;
  const model = await fetchRegistryModel(registry, name, { retryPolicy, signal });
  for (let attempt = 1; ; attempt += 1) {
    yield* fetchBlobs(model, { registry, signal }, dependencies);
    yield { step: "verifying" };
    const header = await validateOrRemove(name, model, dependencies);
    signal.throwIfAborted();
    yield { step: "writing-manifest" };
    const saved = await saveRegistryModel(name, { model, header }, dependencies);
    if (saved.missing !== undefined && attempt < maxAttempts) continue;
    if (saved.missing !== undefined) throw modelFailure({ kind: "blob-missing", digest: saved.missing });
    if (saved.hasFreedBlobs) yield { step: "removing-unused-blobs" };
    return;
  }
}

type FetchContext = { readonly registry: Registry; readonly signal: AbortSignal };

async function* fetchBlobs(
  model: RegistryModel,
  context: FetchContext,
  dependencies: PullDependencies,
): AsyncGenerator<TransferProgress> {
  const blobs = [...new Map(model.blobs.map((blob) => [blob.digest, blob])).values()];
  await requireDiskSpace(blobs, dependencies);
  for (const blob of blobs) {
    const { digest, size } = blob;
    const progress = { step: "transferring-layer", digest, totalBytes: size } as const;
    if (!(await isStored(blob, dependencies))) {
      yield progress;
      for await (const completedBytes of download(blob, context, dependencies)) {
        yield { ...progress, completedBytes };
      }
    }
    yield { ...progress, completedBytes: size };
  }
}

async function isStored(blob: RemoteBlob, { stores, verified }: PullDependencies): Promise<boolean> {
  const found = await findBlob(stores, blob);
  return found !== undefined && (await verified.verify(found, stores));
}

function download(
  blob: RemoteBlob,
  { registry, signal }: FetchContext,
  dependencies: PullDependencies,
): AsyncIterable<number> {
  const { stores, downloads, verified } = dependencies;
  const reference = { digest: blob.digest, size: blob.size };
  return downloads.join(
    reference,
    async (options) => {
      const source = openBlobSource(registry, blob);
      await downloadBlob({ blob: reference, source, ...options }, dependencies);
      const found = await findBlob(stores, reference);
      if (found !== undefined) await verified.record(found);
    },
    signal,
  );
}

/** Checked before the first byte; blobs and blocks that are already stored need no more space. */
async function requireDiskSpace(
  blobs: readonly RemoteBlob[],
  { stores, store }: PullDependencies,
): Promise<void> {
  const diskBlockBytes = 512;
  let neededBytes = 0;
  for (const blob of blobs) {
    if ((await findBlob(stores, blob)) !== undefined) continue;
    const status = await stat(digestPath(store.root, "partial", blob.digest)).catch(() => undefined);
    neededBytes += Math.max(0, blob.size - (status?.blocks ?? 0) * diskBlockBytes);
  }
  const { freeBytes } = await readDisk(store.root);
  if (neededBytes > freeBytes) throw modelFailure({ kind: "store-full" });
}

/** Removes downloaded blobs that fail validation, unless another model uses them. */
async function validateOrRemove(
  name: ModelName,
  model: RegistryModel,
  { stores, store }: PullDependencies,
): Promise<ModelFile> {
  try {
    const header = await validateModelFiles(stores, model.blobs);
    await requireParsable(name, model, { stores, store });
    return header;
  } catch (error) {
    const manifest = { config: null, layers: model.blobs };
    if (isContentError(error)) await store.runExclusive(() => removeUnusedBlobs(store, manifest));
    throw error;
  }
}

/** Whether the downloaded content caused the error. After a disk error the content may still be valid. */
function isContentError(error: unknown): boolean {
  if (!(error instanceof FailureError)) return false;
  // Every failure has a kind.
  const { kind } = error.failure as { readonly kind: string };
  return kind !== "store-io-error" && kind !== "store-full";
}

/** Parses the small layers too; otherwise the name would refer to a broken model. */
async function requireParsable(
  name: ModelName,
  { original, blobs }: RegistryModel,
  { stores, store }: Pick<PullDependencies, "stores" | "store">,
): Promise<void> {
  const manifest = original?.manifest ?? { config: null, layers: blobs };
  const content = original?.content ?? encodeManifest(manifest);
  const location = { store, name, path: "" };
  const model = { location, manifest, content, digest: digestOf(content), modifiedAt: "" };
  await describeModel(model, { stores, headers: createHeaderReader(1) });
}

type SaveResult = { readonly missing?: string; readonly hasFreedBlobs: boolean };

/** Writes the manifest, unless a blob that it references has vanished in the meantime. */
async function saveRegistryModel(
  name: ModelName,
  { model, header }: { readonly model: RegistryModel; readonly header: ModelFile },
  { stores, store }: PullDependencies,
): Promise<SaveResult> {
  await using config = await writeStagedContent(store, [encodeConfig(header)]);
  // Awaited here, because leaving the scope removes the staged file.
  return await store.runExclusive(async () => {
    for (const blob of model.blobs) {
      if ((await findBlob(stores, blob)) === undefined) {
        return { missing: blob.digest, hasFreedBlobs: false };
      }
    }
    if (model.original === null) await commitBlob(store, config);
    const layers = model.blobs.map(({ target: _target, ...layer }) => layer);
    const translated = { config: createConfigLayer(config), layers };
    const freed = await replaceManifest(store, name, model.original?.content ?? encodeManifest(translated));
    return { hasFreedBlobs: freed.length > 0 };
  });
}
