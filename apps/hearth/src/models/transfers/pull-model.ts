import { stat, statfs } from "node:fs/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { ModelFile } from "@hearth-and-keep/gguf";
import { writeConfig } from "../metadata/config-blob.ts";
import { describeModel } from "../metadata/describe-model.ts";
import { createHeaderReader } from "../metadata/header-reader.ts";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, isCloudName, type ModelName, parseModelName } from "../model-name.ts";
import { openBlobSource, type RemoteBlob } from "../registry/blob-source.ts";
import { openRegistry, type Registry, type RegistryParts } from "../registry/registry-client.ts";
import { placeOf } from "../registry/registry-url.ts";
import { fetchRemoteModel, type RemoteModel } from "../registry/remote-model.ts";
import { removeUnused } from "../remove-unused.ts";
import { replaceManifest } from "../replace-manifest.ts";
import { digestPath, findBlob, keepBlob } from "../store/blob-store.ts";
import { digestOf } from "../store/digest.ts";
import { makeConfigLayer, writeManifest } from "../store/manifest.ts";
import { type ModelStores, writableStore } from "../store/model-store.ts";
import { stageContent } from "../store/stage-content.ts";
import type { VerifiedBlobs } from "../store/verified-blobs.ts";
import { type DownloadParts, downloadBlob } from "./download-blob.ts";
import type { SharedDownloads } from "./shared-downloads.ts";
import type { TransferProgress, TransferWish } from "./transfer.ts";
import { passGate } from "./validate-model-files.ts";

export type PullParts = RegistryParts &
  DownloadParts & {
    readonly stores: ModelStores;
    readonly downloads: SharedDownloads;
    readonly verified: VerifiedBlobs;
  };

/** How often a blob may vanish under us, because another model that had it was deleted, before we give up. */
const mostAttempts = 3;

export async function* pullModel(wish: TransferWish, parts: PullParts): AsyncGenerator<TransferProgress> {
  const name = parseModelName(wish.name);
  // Somebody else's machines are not pulled from.
  if (isCloudName(name)) throw modelFailure({ kind: "model-remote", model: displayModelName(name) });
  const place = placeOf(name, wish.isInsecure);
  writableStore(parts.stores);
  yield { step: "reading-manifest" };
  const registry = openRegistry(place, parts);
  const remote = await fetchRemoteModel(registry, name, { patience: parts.patience, signal: wish.signal });
  for (let attempt = 1; ; attempt += 1) {
    yield* fetchBlobs(remote, { registry, signal: wish.signal }, parts);
    yield { step: "verifying" };
    const header = await passOrRemove(name, remote, parts);
    wish.signal.throwIfAborted();
    yield { step: "writing-manifest" };
    const kept = await keepRemote(name, { remote, header }, parts);
    if (kept.missing !== undefined && attempt < mostAttempts) continue;
    if (kept.missing !== undefined) throw modelFailure({ kind: "blob-missing", digest: kept.missing });
    if (kept.isSomethingFreed) yield { step: "removing-unused" };
    return;
  }
}

type Fetching = { readonly registry: Registry; readonly signal: AbortSignal };

async function* fetchBlobs(
  remote: RemoteModel,
  fetching: Fetching,
  parts: PullParts,
): AsyncGenerator<TransferProgress> {
  const blobs = [...new Map(remote.blobs.map((blob) => [blob.digest, blob])).values()];
  await requireSpace(blobs, parts);
  for (const blob of blobs) {
    const { digest, size } = blob;
    const layer = { step: "moving-layer", digest, totalBytes: size } as const;
    if (!(await isHere(blob, parts))) {
      yield layer;
      for await (const completedBytes of follow(blob, fetching, parts)) yield { ...layer, completedBytes };
    }
    yield { ...layer, completedBytes: size };
  }
}

async function isHere(blob: RemoteBlob, { stores, verified }: PullParts): Promise<boolean> {
  const found = await findBlob(stores, blob);
  return found !== undefined && (await verified.isSound(found, stores));
}

function follow(blob: RemoteBlob, { registry, signal }: Fetching, parts: PullParts): AsyncIterable<number> {
  const reference = { digest: blob.digest, size: blob.size };
  return parts.downloads.follow(
    reference,
    async (running) => {
      await downloadBlob({ blob: reference, source: openBlobSource(registry, blob), ...running }, parts);
      const found = await findBlob(parts.stores, reference);
      if (found !== undefined) await parts.verified.note(found);
    },
    signal,
  );
}

/** Before the first byte; what is there already, whole or in part, takes no more room. */
async function requireSpace(blobs: readonly RemoteBlob[], { stores, store }: PullParts): Promise<void> {
  const blockBytes = 512;
  let neededBytes = 0;
  for (const blob of blobs) {
    if ((await findBlob(stores, blob)) !== undefined) continue;
    const status = await stat(digestPath(store.root, "partial", blob.digest)).catch(() => undefined);
    neededBytes += Math.max(0, blob.size - (status?.blocks ?? 0) * blockBytes);
  }
  const { bavail, bsize } = await statfs(store.root);
  if (neededBytes > bavail * bsize) throw modelFailure({ kind: "store-full" });
}

/** What the gate refuses is not left lying in the store, unless another model has it. */
async function passOrRemove(
  name: ModelName,
  remote: RemoteModel,
  { stores, store }: PullParts,
): Promise<ModelFile> {
  try {
    const header = await passGate(stores, remote.blobs);
    await requireReadable(name, remote, { stores, store });
    return header;
  } catch (problem) {
    const manifest = { config: null, layers: remote.blobs };
    if (isOfContent(problem)) await store.inTurn(() => removeUnused(store, manifest));
    throw problem;
  }
}

/** Whether what arrived is at fault. A disk that fails now may read it well tomorrow. */
function isOfContent(problem: unknown): boolean {
  if (!(problem instanceof FailureError)) return false;
  // Only its kind is looked at.
  const { kind } = problem.failure as { readonly kind: string };
  return kind !== "store-failing" && kind !== "store-full";
}

/** What the registry wrote beside the weights must be what we can read, or the name would lead to a broken model. */
async function requireReadable(
  name: ModelName,
  { original, blobs }: RemoteModel,
  { stores, store }: Pick<PullParts, "stores" | "store">,
): Promise<void> {
  const manifest = original?.manifest ?? { config: null, layers: blobs };
  const content = original?.content ?? writeManifest(manifest);
  const place = { store, name, path: "" };
  const model = { place, manifest, content, digest: digestOf(content), modifiedAt: "" };
  await describeModel(model, { stores, headers: createHeaderReader(1) });
}

type Kept = { readonly missing?: string; readonly isSomethingFreed: boolean };

/** The name comes last, in the store's turn, and only when everything that it names is still here. */
async function keepRemote(
  name: ModelName,
  { remote, header }: { readonly remote: RemoteModel; readonly header: ModelFile },
  { stores, store }: PullParts,
): Promise<Kept> {
  await using config = await stageContent(store, [writeConfig(header)]);
  // Awaited here, because the scope removes the staged file.
  return await store.inTurn(async () => {
    for (const blob of remote.blobs) {
      if ((await findBlob(stores, blob)) === undefined)
        return { missing: blob.digest, isSomethingFreed: false };
    }
    if (remote.original === null) await keepBlob(store, config);
    const layers = remote.blobs.map(({ target: _target, ...layer }) => layer);
    const own = { config: makeConfigLayer(config), layers };
    const freed = await replaceManifest(store, name, remote.original?.content ?? writeManifest(own));
    return { isSomethingFreed: freed.length > 0 };
  });
}
