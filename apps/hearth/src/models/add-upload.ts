import { modelFailure } from "./model-failure.ts";
import { findUnusedBlobs } from "./prune.ts";
import { addBlob } from "./store/blob-store.ts";
import type { Digest } from "./store/digest.ts";
import type { ModelStore } from "./store/model-store.ts";
import { readDisk } from "./store/read-disk.ts";

export type Upload = {
  readonly digest: Digest;
  readonly content: AsyncIterable<Uint8Array>;
  /** The length that the client announced; undefined if it announced none. */
  readonly announcedBytes?: number | undefined;
};

/** Stays free for other programs: this share of the disk, but at most so many bytes. */
const reserve = { share: 0.05, maxBytes: 1024 ** 3 };
/** Of the disk, for uploads that no model has been created from yet. */
const maxUnusedShare = 0.5;
const bytesBetweenChecks = 64 * 1024 * 1024;

/** Stores content for a model that is created from it later, unless it would fill the disk. */
export async function addUpload(store: ModelStore, upload: Upload, getDisk = readDisk): Promise<void> {
  // While a manifest cannot be read, any blob may be in use.
  const unused = await findUnusedBlobs(store, 0).catch(() => []);
  const unusedBytes = unused.reduce((sum, { bytes }) => sum + bytes, 0);
  /** `uploadedBytes` no longer count as free. */
  const requireSpace = async (bytes: number, uploadedBytes: number): Promise<void> => {
    const { totalBytes, freeBytes } = await getDisk(store.root);
    const reservedBytes = Math.min(reserve.maxBytes, totalBytes * reserve.share);
    const isWithinQuota = unusedBytes + bytes <= totalBytes * maxUnusedShare;
    if (bytes - uploadedBytes > freeBytes - reservedBytes || !isWithinQuota) {
      throw modelFailure({ kind: "store-full" });
    }
  };
  await requireSpace(upload.announcedBytes ?? 0, 0);
  await addBlob(store, upload.digest, checkRepeatedly(upload.content, requireSpace));
}

async function* checkRepeatedly(
  content: AsyncIterable<Uint8Array>,
  requireSpace: (bytes: number, uploadedBytes: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let checkedBytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes - checkedBytes >= bytesBetweenChecks) {
      await requireSpace(bytes, bytes);
      checkedBytes = bytes;
    }
    yield chunk;
  }
}
